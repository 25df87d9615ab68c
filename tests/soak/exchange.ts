import type { Effect, Ledger } from "./ledger.ts";

/** A reply, and when its request was sent and the reply was there whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly sentAt: number;
  readonly at: number;
}

/** Longer than nginx waits. */
const longestMs = 65_000;

/**
 * Sends a request, and counts it. Undefined where a fault explains that there is no answer: a connection that broke, or a
 * 503 with `Retry-After`; a caller may try again. Without such a fault either is wrong.
 *
 * @param name names the request in what is wrong
 */
export async function exchange(
  ledger: Ledger,
  name: string,
  url: string,
  init: RequestInit = {},
): Promise<Answer | undefined> {
  const sentAt = Date.now();
  const headers = new Headers(init.headers);
  headers.set("connection", "close");
  ledger.count("requests");
  try {
    const signal = AbortSignal.timeout(longestMs);
    const response = await fetch(url, { redirect: "manual", signal, ...init, headers });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, text, sentAt, at: Date.now() };
    if (isBalancers(answer)) return broken(ledger, name, sentAt, `${answer.status} of the balancer`);
    return isRefused(ledger, name, answer) ? undefined : answer;
  } catch (error) {
    return broken(ledger, name, sentAt, String(error));
  }
}

/** A connection broke. */
export function broken(ledger: Ledger, name: string, sentAt: number, how: string): undefined {
  const now = Date.now();
  if (ledger.near("breaks", sentAt, now).length > 0) ledger.count("broken connections");
  else ledger.fail(`${name}, sent ${now - sentAt} ms ago, had no reply: ${how}`);
  return undefined;
}

const isBalancers = ({ status, headers }: Answer) =>
  (status === 502 || status === 504) && !headers.has("x-request-id");

function isRefused(ledger: Ledger, name: string, answer: Answer): boolean {
  const { status, headers, text, sentAt, at } = answer;
  if (status !== 503) return false;
  ledger.count("503");
  if (headers.get("retry-after") === null) ledger.fail(`${name} had a 503 without Retry-After: ${text}`);
  const effects: Effect[] = ["refuses", "breaks"];
  if (!effects.some((effect) => ledger.near(effect, sentAt, at).length > 0)) {
    ledger.fail(`${name} had a 503 though nothing was away: ${text}`);
  }
  return true;
}
