const baseMs = 500;
const capMs = 8000;

/**
 * How long to wait before the next attempt, in milliseconds: exponential with full jitter, and no shorter than what
 * the provider asked for.
 * @param attempt how many there were, from 1
 * @param askedMs what the provider asked for
 * @param random from 0 to below 1
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function retryDelay(attempt: number, askedMs: number | undefined, random: () => number): number {
  const jittered = random() * Math.min(capMs, baseMs * 2 ** (attempt - 1));
  return Math.max(jittered, askedMs ?? 0);
}

/**
 * The wait that a reply asks for, in milliseconds, 0 or more: `retry-after-ms`, which some vendors send, else
 * `Retry-After` as seconds or as a date.
 * @param now milliseconds since the epoch
 * @returns undefined where it asks for none that can be read
 * @see RFC 9110, section 10.2.3
 */
export function askedDelay(headers: Headers, now: number): number | undefined {
  const ms = decimal(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms;
  const text = headers.get("retry-after");
  const seconds = decimal(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(text ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * The wait that an error's body asks for, in milliseconds: Google's `RetryInfo`, which comes in place of a header.
 * @returns undefined where it asks for none
 * @see https://github.com/googleapis/googleapis, google/rpc/error_details.proto
 */
export function askedDelayIn(body: string): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

function decimal(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
