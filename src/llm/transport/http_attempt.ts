import { createDeadline } from "../../core/async/deadline.ts";
import type { Span } from "../../core/tracing.ts";
import { providerName, type ProviderOptions } from "../provider.ts";
import { type NoAnswer, ProviderError, type ProviderErrorKind } from "../provider_error.ts";
import { isPassingStatus, kindOfStatus } from "../provider_error.ts";
import { asBrokenConnection, AttemptError, type Incoming, readErrorBody } from "./read_reply.ts";
import { cutOutEcho, scrubSecrets } from "./scrub_secrets.ts";

/** Headers by name, as configuration and vendors' adapters give them. */
type HeaderRecord = Readonly<Record<string, string>>;

/** What is particular to a vendor's HTTP interface. */
export interface VendorInterface {
  /** Where the requests' paths are appended; one slash more or less at its end makes no difference. */
  readonly baseUrl: string;
  /** Whether a request without a key is pointless. */
  readonly needsKey: boolean;
  readonly authHeaders: (key: string) => HeaderRecord;
  /** What an error's text says that its status does not. */
  readonly readError?: (
    detail: string,
  ) => { readonly kind?: ProviderErrorKind; readonly noAnswer?: NoAnswer } | undefined;
  /** What may be wrong if an address is not found. */
  readonly notFoundHint?: string | undefined;
}

export interface AttemptRequest {
  readonly path: string;
  /** Sent as JSON by POST; without it the request is a GET. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Ends the fetch, the reading of the body and the waiting at once. */
  readonly signal: AbortSignal;
  /** Those of the wire format. */
  readonly headers?: HeaderRecord;
  /** Optional; none where it is not traced. */
  readonly span?: Span | undefined;
}

/** A request as every attempt sends it. */
export interface Call {
  readonly request: AttemptRequest;
  /** The media type that is wanted. */
  readonly accept: string;
  readonly body: string | undefined;
}

export interface Attempt extends Incoming {
  /**
   * Sends the request.
   * @returns a reply whose status is a success
   * @throws {AttemptError} or what makes the request impossible
   */
  fetch(): Promise<Response>;
  /**
   * Ends an attempt, and logs its error unless it was the caller who ended it.
   * @param message for the log; the level follows from it
   * @returns what to throw: the error, or the reason of the caller's signal
   */
  fail(error: AttemptError, message: AttemptMessage): unknown;
  end(): void;
}

const levels = {
  "provider attempt failed": "debug",
  "provider request failed": "warn",
  "A provider's stream failed": "warn",
} as const;
type AttemptMessage = keyof typeof levels;

const longestDetail = 1000;
const longestRequestId = 100;

/** The key as it is now. */
export function keyOf({ apiKey }: ProviderOptions): string | undefined {
  return apiKey()?.trim() || undefined;
}

/**
 * Starts the time of one attempt.
 * @param number from 1
 * @param limitMs Infinity: no limit
 */
export function startAttempt(
  options: ProviderOptions,
  vendor: VendorInterface,
  call: Call,
  number: number,
  limitMs: number,
): Attempt {
  const caller = call.request.signal;
  const hear = call.body === undefined ? () => {} : options.onReply ?? (() => {});
  const startedAt = performance.now();
  // 0 would mean no limit, and here the time is up
  const deadline = createDeadline(Math.max(1, limitMs), {
    signal: caller,
    reason: () =>
      new AttemptError("timeout", `no reply within ${Math.round(limitMs)} ms`, { isPassing: true }),
  });
  // kept, since the key may be replaced before a reply echoes the old one
  let sentKey: string | undefined;

  function scrub(text: string, longest: number): string {
    const headers = Object.values(options.headers ?? {}).map((value) =>
      value.replace(/^(bearer|basic)\s+/i, "")
    );
    const secrets = [sentKey ?? "", keyOf(options) ?? "", ...headers, passwordIn(vendor.baseUrl)];
    // only the start is scrubbed, so that a long text from a provider costs no time
    const scrubbed = scrubSecrets(cutOutEcho(text.slice(0, 4 * longest), call.request.body), secrets);
    return scrubbed.length > longest ? `${scrubbed.slice(0, longest)}…` : scrubbed;
  }

  return {
    deadline,
    hear,

    async fetch() {
      sentKey = keyOf(options);
      const prepared = prepare(options, vendor, call, sentKey);
      const response = await fetch(prepared, { signal: deadline.signal }).catch((thrown) => {
        throw asBrokenConnection(thrown);
      });
      hear();
      if (response.ok) return response;
      const body = await readErrorBody(response, { deadline, hear });
      throw errorOf(response, prepared, body, vendor.notFoundHint);
    },

    fail({ kind: given, message: text, facts }, message) {
      const elapsedMs = Math.round(performance.now() - startedAt);
      deadline[Symbol.dispose]();
      if (caller.aborted) return caller.reason;
      const detail = scrub(text, longestDetail);
      const { kind = given, noAnswer = facts.noAnswer } = vendor.readError?.(detail) ?? {};
      const fields = {
        provider: providerName(options),
        attempt: number,
        status: facts.status,
        elapsedMs,
        fault: kind,
        requestId: facts.requestId && scrub(facts.requestId, longestRequestId),
        detail,
      };
      if (noAnswer !== undefined && levels[message] === "warn") {
        options.logger.info("a model gave no answer", fields);
      } else options.logger[levels[message]](message, fields);
      return new ProviderError(kind, detail, { noAnswer });
    },

    end: () => deadline[Symbol.dispose](),
  };
}

function prepare(
  { headers, tracedOrigins = [] }: ProviderOptions,
  { baseUrl, authHeaders }: VendorInterface,
  { request, accept, body }: Call,
  key: string | undefined,
): Request {
  const own: HeaderRecord = body === undefined ? { accept } : { accept, "content-type": "application/json" };
  const traceparent = request.span !== undefined && tracedOrigins.includes(new URL(baseUrl).origin)
    ? { traceparent: request.span.traceparent }
    : undefined;
  const auth = key === undefined ? undefined : authHeaders(key);
  return new Request(`${baseUrl.replace(/\/+$/, "")}/${request.path.replace(/^\/+/, "")}`, {
    method: body === undefined ? "GET" : "POST",
    headers: mergeHeaders(own, traceparent, request.headers, auth, headers),
    body: body ?? null,
    // followed, it could hand the key to another origin
    redirect: "manual",
  });
}

/**
 * One set of headers from several levels. Of two names that differ in case alone, the later level's wins.
 * @param levels from the most general to the most particular; an absent level is skipped
 * @returns the headers under lower-case names
 */
export function mergeHeaders(...levels: readonly (HeaderRecord | undefined)[]): HeaderRecord {
  const entries = levels.flatMap((level) => Object.entries(level ?? {}));
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

function errorOf(
  { status, headers }: Response,
  { method, url }: Request,
  body: string,
  notFoundHint = "",
): AttemptError {
  const location = headers.get("location");
  const place = location === null ? "" : ` to ${location}`;
  const hint = (status === 404 || status === 405) && notFoundHint !== "" ? ` (${notFoundHint})` : "";
  return new AttemptError(
    kindOfStatus(status),
    `HTTP ${status} for ${method} ${new URL(url).pathname}${place}${hint}${body === "" ? "" : `: ${body}`}`,
    {
      status,
      // a vendor knows best what is worth trying again; `x-should-retry` is how OpenAI and Anthropic say so
      isPassing: isPassingStatus(status) && headers.get("x-should-retry") !== "false",
      askedDelayMs: askedDelay(headers, Date.now()) ?? askedDelayIn(body),
      requestId: headers.get("x-request-id") ?? headers.get("request-id") ?? undefined,
    },
  );
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

function passwordIn(baseUrl: string): string {
  const password = URL.canParse(baseUrl) ? new URL(baseUrl).password : "";
  // unlike `decodeURIComponent`, this takes a percent sign that begins no code
  return new URLSearchParams(`password=${password.replaceAll("+", "%2B")}`).get("password") ?? "";
}
