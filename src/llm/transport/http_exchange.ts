import { asFailure, AttemptFailure } from "./attempt_failure.ts";
import { type Attempt, type AttemptOptions, type AttemptRequest, startAttempt } from "./http_attempt.ts";
import { readItems, type StreamItem } from "./read_items.ts";
import { maxJsonBytes, readChunks, readJson } from "./read_reply.ts";
import { retryDelay } from "./retry_delay.ts";
import { sleep as wait } from "../../core/async/deadline.ts";

export type { StreamItem } from "./read_items.ts";

export interface HttpExchangeOptions extends AttemptOptions {
  /** For all attempts together, in milliseconds; of a stream: until its first item. 0: no limit. */
  readonly requestTimeoutMs: number;
  /** For each attempt, in milliseconds; of a stream: until its first item. 0: no limit. */
  readonly perAttemptTimeoutMs: number;
  /**
   * The longest silence of a stream, in milliseconds, after its first item; without a limit for each attempt, after its
   * headers too. 60,000 where absent.
   */
  readonly stallTimeoutMs?: number;
  /** 4 where absent. */
  readonly maxAttempts?: number;
  /** The longest wait that a reply may ask for, in milliseconds; past it the fault is told at once. 60,000 where absent. */
  readonly longestAskedDelayMs?: number;
  /** From 0 to below 1. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface ExchangeRequest extends AttemptRequest {
  /** For all attempts together, where it is less than the exchange's own limit. */
  readonly timeoutMs?: number | undefined;
  /** Longest body of a reply that is no stream; 64 MiB where absent. */
  readonly maxBytes?: number;
}

/** A provider's address over HTTP: replies are bounded in size and time, and what fails becomes one of the eight faults. */
export interface HttpExchange {
  /**
   * One JSON reply.
   * @param request `read` takes what is needed from the JSON; what it throws is a `provider` fault, unless it says another
   * @throws {ProviderError} or the signal's reason
   */
  send<T>(request: ExchangeRequest & { readonly read: (json: unknown) => T }): Promise<T>;
  /**
   * A streamed reply's items, in order. Ends when the body ends cleanly; the caller knows whether the vendor's own end
   * mark was among them. Nothing is sent before the first item is asked for.
   * @throws {ProviderError} or the signal's reason
   */
  stream(request: ExchangeRequest & { readonly format: "events" | "lines" }): AsyncIterable<StreamItem>;
}

const defaultStallMs = 60_000;
const defaultMaxAttempts = 4;
const defaultLongestAskedDelayMs = 60_000;
/** With less time than this left, another attempt is hopeless. */
const shortestAttemptMs = 10;

/** An exchange that tries again where that may help: a reply until it was read, a stream only before its first item. */
export function createHttpExchange(options: HttpExchangeOptions): HttpExchange {
  const stallMs = options.stallTimeoutMs ?? defaultStallMs;

  return {
    send: (request) =>
      runAttempts(options, request, "application/json", async (attempt) => {
        const json = await readJson(await attempt.fetch(), attempt.timer, request.maxBytes ?? maxJsonBytes);
        try {
          return request.read(json);
        } catch (thrown) {
          throw asFailure(thrown, "provider");
        } finally {
          attempt.timer.end();
        }
      }),

    async *stream(request) {
      const accept = request.format === "events" ? "text/event-stream" : "application/x-ndjson";
      const opened = await runAttempts(options, request, accept, async (attempt) => {
        let hasItem = false;
        // a model may think in silence before its first word, for as long as the attempt may take
        const silenceMs = () => hasItem || options.perAttemptTimeoutMs === 0 ? stallMs : Infinity;
        const chunks = readChunks(await attempt.fetch(), attempt.timer, silenceMs);
        const items = readItems(chunks, request.format);
        const first = await items.next();
        if (first.done) throw new AttemptFailure("provider", "the stream is empty", { isPassing: true });
        hasItem = true;
        attempt.timer.lift();
        return { attempt, first: first.value, items };
      });
      try {
        yield opened.first;
        for await (const item of opened.items) {
          // what has arrived already is not wanted any more
          request.signal.throwIfAborted();
          yield item;
        }
      } catch (thrown) {
        throw opened.attempt.fail(asFailure(thrown, "internal"), true);
      } finally {
        await opened.items.return();
        opened.attempt.timer.end();
      }
    },
  };
}

/**
 * Runs an operation until it succeeds, cannot be helped, or has had its attempts or its time.
 * @param accept the media type that is wanted
 * @throws {ProviderError} or the signal's reason
 */
async function runAttempts<T>(
  options: HttpExchangeOptions,
  request: ExchangeRequest,
  accept: string,
  operation: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const { maxAttempts = defaultMaxAttempts, random = Math.random, sleep = wait } = options;
  const { longestAskedDelayMs = defaultLongestAskedDelayMs } = options;
  const { requestTimeoutMs, perAttemptTimeoutMs } = options;
  const timeoutMs = Math.min(requestTimeoutMs || Infinity, request.timeoutMs ?? Infinity);
  const deadline = performance.now() + timeoutMs;
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);

  for (let number = 1;; number++) {
    request.signal.throwIfAborted();
    const limitMs = Math.min(perAttemptTimeoutMs || Infinity, deadline - performance.now());
    const attempt = startAttempt(options, { request, accept, body }, number, limitMs);
    try {
      return await operation(attempt);
    } catch (thrown) {
      const failure = asFailure(thrown, "internal");
      const { isPassing = false, askedDelayMs = 0 } = failure.facts;
      const delayMs = retryDelay(number, askedDelayMs, random);
      const isInTime = askedDelayMs <= longestAskedDelayMs &&
        performance.now() + delayMs + shortestAttemptMs < deadline;
      const isFinal = !isPassing || number >= maxAttempts || !isInTime;
      const fault = attempt.fail(failure, isFinal);
      if (isFinal || request.signal.aborted) throw fault;
      await sleep(delayMs, request.signal);
    }
  }
}
