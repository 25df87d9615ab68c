import type { Logger } from "../../core/logger.ts";
import { asBrokenConnection, AttemptFailure } from "./attempt_failure.ts";
import { type AttemptTimer, createAttemptTimer } from "./attempt_timer.ts";
import { faultOfStatus, isPassingStatus } from "./classify_status.ts";
import { cutOutEcho } from "./cut_out_echo.ts";
import { type HeaderRecord, mergeHeaders } from "./merge_headers.ts";
import { ProviderError } from "../provider_error.ts";
import { readErrorBody } from "./read_reply.ts";
import { askedDelay, askedDelayIn } from "./retry_delay.ts";
import { scrubSecrets } from "./scrub_secrets.ts";

/** What an attempt needs to know of the provider. */
export interface AttemptOptions {
  /** Kind and model, as in `openai/gpt-6.1-terra`, for logs. */
  readonly provider: string;
  /** Where the requests' paths are appended; one slash more or less at its end makes no difference. */
  readonly baseUrl: string;
  /** Headers with the key in them. Asked once per attempt, so that a key that was replaced takes effect. */
  readonly authHeaders: () => Readonly<Record<string, string>>;
  /** The keys as they are now, to be taken out of everything that is logged. */
  readonly secrets: () => readonly string[];
  /** Configured ones, which win over all others. Their values count as secrets too: gateways have keys of their own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What to think of where an address is not found. */
  readonly notFoundHint?: string | undefined;
  /** Told of each piece of a reply; of nothing that answers a GET, which says little about POSTs. */
  readonly onReply?: () => void;
  readonly logger: Logger;
}

export interface AttemptRequest {
  /** POST where there is a body, else GET. */
  readonly method?: "GET" | "POST";
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends the fetch, the reading of the body and the waiting at once. */
  readonly signal: AbortSignal;
  /** Those of the wire format. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as every attempt sends it. */
export interface Call {
  readonly request: AttemptRequest;
  /** The media type that is wanted. */
  readonly accept: string;
  readonly body: string | undefined;
}

export interface Attempt {
  readonly timer: AttemptTimer;
  /**
   * Sends the request.
   * @returns a reply whose status is a success
   * @throws {AttemptFailure} or what makes the request impossible
   */
  fetch(): Promise<Response>;
  /**
   * Ends an attempt that failed, and logs it unless it was the caller who ended it.
   * @param isFinal no other attempt follows
   * @returns what to throw: the fault, or the reason of the caller's signal
   */
  fail(failure: AttemptFailure, isFinal: boolean): unknown;
}

const longestDetail = 1000;
const longestRequestId = 100;
/** Configured headers whose values are no secrets. */
const plainHeaders = new Set(["accept", "content-type", "user-agent"]);

/**
 * Starts the time of one attempt.
 * @param number from 1
 * @param limitMs Infinity: no limit
 */
export function startAttempt(
  options: AttemptOptions,
  call: Call,
  number: number,
  limitMs: number,
): Attempt {
  const caller = call.request.signal;
  const timer = createAttemptTimer(caller, limitMs, call.body === undefined ? undefined : options.onReply);
  // kept, since the key may be replaced before the reply that echoes the old one
  let authHeaders: HeaderRecord = {};

  function scrub(text: string, longest: number): string {
    const headers = [...Object.entries(options.headers ?? {}), ...Object.entries(authHeaders)]
      .filter(([name]) => !plainHeaders.has(name.toLowerCase()))
      .map(([, value]) => value.replace(/^(bearer|basic)\s+/i, ""));
    // no more than may be shown: what a provider sends must not cost time
    const start = cutOutEcho(text.slice(0, 4 * longest), call.request.body);
    const scrubbed = scrubSecrets(start, [...options.secrets(), ...headers, passwordIn(options.baseUrl)]);
    return scrubbed.length > longest ? `${scrubbed.slice(0, longest)}…` : scrubbed;
  }

  return {
    timer,

    async fetch() {
      authHeaders = options.authHeaders();
      const prepared = prepare(options, call, authHeaders);
      const response = await fetch(prepared, { signal: timer.signal }).catch((thrown) => {
        throw asBrokenConnection(thrown);
      });
      timer.hear();
      if (!response.ok) throw await failedReply(response, prepared, timer, options.notFoundHint);
      return response;
    },

    fail({ fault, message, facts }, isFinal) {
      const elapsedMs = timer.elapsedMs();
      timer.end();
      if (caller.aborted) return caller.reason;
      const detail = scrub(message, longestDetail);
      const fields = {
        provider: options.provider,
        attempt: number,
        status: facts.status,
        elapsedMs,
        fault,
        requestId: facts.requestId && scrub(facts.requestId, longestRequestId),
        detail,
      };
      if (!isFinal) options.logger.debug("provider attempt failed", fields);
      else if (facts.noAnswer !== undefined) options.logger.info("a model gave no answer", fields);
      else options.logger.warn("provider request failed", fields);
      return new ProviderError(fault, detail, { noAnswer: facts.noAnswer });
    },
  };
}

function prepare(
  { baseUrl, headers }: AttemptOptions,
  { request, accept, body }: Call,
  auth: HeaderRecord,
): Request {
  const own: HeaderRecord = body === undefined ? { accept } : { accept, "content-type": "application/json" };
  return new Request(`${baseUrl.replace(/\/+$/, "")}/${request.path.replace(/^\/+/, "")}`, {
    method: request.method ?? (body === undefined ? "GET" : "POST"),
    headers: mergeHeaders(own, request.headers, auth, headers),
    body: body ?? null,
    // followed, it could hand the key to another origin
    redirect: "manual",
  });
}

async function failedReply(
  response: Response,
  { method, url }: Request,
  timer: AttemptTimer,
  notFoundHint = "",
): Promise<AttemptFailure> {
  const { status, headers } = response;
  const body = await readErrorBody(response, timer);
  const location = headers.get("location");
  const place = location === null ? "" : ` to ${location}`;
  const hint = (status === 404 || status === 405) && notFoundHint !== "" ? ` (${notFoundHint})` : "";
  return new AttemptFailure(
    faultOfStatus(status),
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

function passwordIn(baseUrl: string): string {
  const password = URL.canParse(baseUrl) ? new URL(baseUrl).password : "";
  // unlike `decodeURIComponent`, this takes a percent sign that begins no code
  return new URLSearchParams(`password=${password.replaceAll("+", "%2B")}`).get("password") ?? "";
}
