import type { Logger } from "../core/logger.ts";
import { asFailure, AttemptFailure } from "./attempt_failure.ts";
import { readItems, type StreamItem } from "./read_items.ts";
import { maxJsonBytes, readChunks, readJson } from "./read_reply.ts";
import { runAttempts } from "./run_attempts.ts";

export type { StreamItem } from "./read_items.ts";

export interface HttpExchangeOptions {
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
  /** What to think of where an address is not found. */
  readonly notFoundHint?: string | undefined;
  /** Told of each piece of a reply; of nothing that answers a GET, which says little about POSTs. */
  readonly onReply?: () => void;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random?: () => number;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface ExchangeRequest {
  /** POST where there is a body, else GET. */
  readonly method?: "GET" | "POST";
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Ends the fetch, the reading of the body and the waiting at once. */
  readonly signal: AbortSignal;
  /** Those of the wire format. */
  readonly headers?: Readonly<Record<string, string>>;
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
