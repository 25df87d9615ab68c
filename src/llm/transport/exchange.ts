import { sleep as wait } from "../../core/async/deadline.ts";
import { providerName, type ProviderOptions } from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import {
  asAttemptError,
  AttemptError,
  maxJsonBytes,
  readItems,
  readJson,
  type StreamItem,
} from "./read_reply.ts";
import {
  type Attempt,
  type AttemptRequest,
  keyOf,
  startAttempt,
  type VendorInterface,
} from "./http_attempt.ts";

const maxAttempts = 4;
const defaultLongestAskedDelayMs = 60_000;
const defaultStallMs = 60_000;
/** With less time than this left, another attempt is hopeless. */
const shortestAttemptMs = 10;
/** The wait before the second attempt; twice as long before each further one. */
const firstDelayMs = 500;

export interface ExchangeRequest extends AttemptRequest {
  /** For all attempts together, where it is less than the provider's own limit. */
  readonly timeoutMs?: number | undefined;
}

/** Of a reply that is one JSON value. */
interface SendRequest<T> extends ExchangeRequest {
  /** The longest body, in bytes. Optional; the default is 64 MiB. */
  readonly maxBytes?: number;
  /** Takes what is needed from the JSON; what it throws becomes an error of kind `provider`, unless it is a ProviderError. */
  readonly read: (json: unknown) => T;
}

/** Of a reply that is a stream. */
interface StreamRequest<T> extends ExchangeRequest {
  readonly format: "events" | "lines";
  readonly read: (item: StreamItem) => T;
}

export type VendorExchange = ReturnType<typeof createVendorExchange>;

/**
 * The exchange with one vendor over HTTP. Replies are bounded in size and time, and every error becomes one of the eight
 * kinds. It tries again where that may help: a reply until it was read, a stream only before its first item. A request
 * that needs a key and has none fails as `credentials` before any network is used.
 */
export function createVendorExchange(options: ProviderOptions, vendor: VendorInterface) {
  const { logger, stallTimeoutMs: stallMs = defaultStallMs } = options;

  function requireKey(): void {
    if (!vendor.needsKey || keyOf(options) !== undefined) return;
    const detail = `no API key for ${options.kind} is configured`;
    logger.warn("Cannot call a provider", { provider: providerName(options), detail });
    throw new ProviderError("credentials", detail);
  }

  /**
   * What `read` makes of one JSON reply.
   * @throws {ProviderError} or the signal's reason
   */
  async function send<T>(request: SendRequest<T>): Promise<T> {
    requireKey();
    return await runAttempts(options, vendor, request, "application/json", async (attempt) => {
      const json = await readJson(await attempt.fetch(), attempt, request.maxBytes ?? maxJsonBytes);
      try {
        return request.read(json);
      } catch (thrown) {
        throw asAttemptError(thrown, "provider");
      } finally {
        attempt.end();
      }
    });
  }

  return {
    send,

    /**
     * Reads something that costs nothing, to see whether the vendor answers and takes the key.
     * @throws {ProviderError} or the signal's reason
     */
    get: (request: Pick<ExchangeRequest, "path" | "signal" | "headers">): Promise<void> =>
      send({ ...request, read: () => {} }),

    /**
     * What `read` makes of a streamed reply's items, in order. Ends when the body ends cleanly; the caller knows whether
     * the vendor's own end mark was among them. Nothing is sent before the first item is asked for.
     * @throws {ProviderError} what `read` throws among it, or the signal's reason
     */
    async *stream<T>({ read, ...request }: StreamRequest<T>): AsyncGenerator<T, void, undefined> {
      requireKey();
      const accept = request.format === "events" ? "text/event-stream" : "application/x-ndjson";
      const open = async (attempt: Attempt) => {
        let hasItem = false;
        // a model may think in silence before its first word, for as long as the attempt may take
        const silenceMs = () => hasItem || options.perAttemptTimeoutMs === 0 ? stallMs : Infinity;
        const items = readItems(await attempt.fetch(), attempt, request.format, silenceMs);
        const first = await items.next();
        if (first.done) throw new AttemptError("provider", "the stream is empty", { isPassing: true });
        hasItem = true;
        attempt.deadline.lift();
        return { attempt, first: first.value, items };
      };
      const { attempt, first, items } = await runAttempts(options, vendor, request, accept, open);
      const readItem = (item: StreamItem): T => {
        try {
          return read(item);
        } catch (thrown) {
          throw attempt.fail(asAttemptError(thrown, "provider"), "A provider's stream failed");
        }
      };
      try {
        yield readItem(first);
        for await (const item of items) {
          // nobody wants what has already arrived
          request.signal.throwIfAborted();
          yield readItem(item);
        }
      } catch (thrown) {
        if (thrown instanceof ProviderError) throw thrown;
        throw attempt.fail(asAttemptError(thrown, "internal"), "provider request failed");
      } finally {
        await items.return();
        attempt.end();
      }
    },
  };
}

/**
 * Runs an operation until it succeeds, until trying again cannot help, or until its attempts or its time are used up.
 * @param accept the media type that is wanted
 * @throws {ProviderError} or the signal's reason
 */
async function runAttempts<T>(
  options: ProviderOptions,
  vendor: VendorInterface,
  request: ExchangeRequest,
  accept: string,
  operation: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const { requestTimeoutMs, perAttemptTimeoutMs, random = Math.random, sleep = wait } = options;
  const { longestAskedDelayMs = defaultLongestAskedDelayMs } = options;
  const timeoutMs = Math.min(requestTimeoutMs || Infinity, request.timeoutMs ?? Infinity);
  const deadline = performance.now() + timeoutMs;
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);

  let earlier: AttemptError | undefined;

  for (let number = 1;; number++) {
    request.signal.throwIfAborted();
    const leftMs = deadline - performance.now();
    const limitMs = Math.min(perAttemptTimeoutMs || Infinity, leftMs);
    const attempt = startAttempt(options, vendor, { request, accept, body }, number, limitMs);
    try {
      return await operation(attempt);
    } catch (thrown) {
      const caught = asAttemptError(thrown, "internal");
      // an attempt that got only what time was left says nothing, and the one before it says why it was made
      const error = caught.kind === "timeout" && limitMs === leftMs ? earlier ?? caught : caught;
      earlier = error;
      const { isPassing = false, askedDelayMs = 0 } = error.facts;
      // full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
      const delayMs = Math.max(random() * firstDelayMs * 2 ** (number - 1), askedDelayMs);
      const isInTime = askedDelayMs <= longestAskedDelayMs &&
        performance.now() + delayMs + shortestAttemptMs < deadline;
      const isFinal = !isPassing || number >= maxAttempts || !isInTime;
      const told = attempt.fail(error, isFinal ? "provider request failed" : "provider attempt failed");
      if (isFinal || request.signal.aborted) throw told;
      options.metrics?.retries.add();
      await sleep(delayMs, request.signal);
    }
  }
}

export function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}

/** A base URL that ends with a version: `version` is added where it names none. */
export function versionedUrl(baseUrl: string, version: string): string {
  const url = baseUrl.replace(/\/+$/, "");
  return /\/v\d+[a-z]*\d*$/.test(url) ? url : `${url}/${version}`;
}
