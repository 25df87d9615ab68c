import type { CircuitState } from "../core/metrics/server_metrics.ts";
import { type CompletionPart, providerName, type ProviderOptions } from "./provider.ts";
import { ProviderError, type ProviderErrorKind } from "./provider_error.ts";

/** So many errors in a row open the circuit. */
const errorsToOpen = 5;
/** How long it stays open before a probe. */
const openMs = 30_000;
/**
 * A caller that leaves without a reply after at least this long counts as a timeout. For a whole answer it is half of
 * the request's time within these bounds, since a model may think in silence, yet clients of the Model Context Protocol
 * leave after 60 seconds. For a stream it is the lower bound.
 */
const patience = { shortestMs: 20_000, longestMs: 45_000 };

// Not `invalid_request` and `unsupported`: one caller's bad request must not shut others out. Not `credentials`: that
// error comes fast and costs nothing, and a key that was replaced has to take effect at once. Not `internal`: that one
// is ours.
const countedKinds: ReadonlySet<ProviderErrorKind> = new Set([
  "unreachable",
  "timeout",
  "provider",
  "rate_limit",
]);

/**
 * The permission for one operation. Whoever has it calls one of these; the first call counts, later ones are ignored.
 */
interface CircuitPass {
  /** The provider works: closes the circuit, even if it opened while the operation ran. */
  succeed(): void;
  /**
   * Counts errors that tell of the provider's health. A reply without an answer counts as a success; other errors count
   * as nothing.
   */
  fail(thrown: unknown): void;
  /**
   * The caller left. It counts as a `timeout` if the caller waited long enough and the provider sent nothing to anybody
   * meanwhile: callers seldom wait for our own limits.
   */
  leave(): void;
  /** The operation ended without telling anything about the provider. */
  abandon(): void;
}

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** Spares a provider that is down, and its callers the wait for it. */
export function createCircuitBreaker(
  options: Pick<ProviderOptions, "kind" | "model" | "requestTimeoutMs" | "logger" | "now">,
) {
  const { requestTimeoutMs, logger, now = () => performance.now() } = options;
  const provider = providerName(options);
  const halfMs = (requestTimeoutMs || Infinity) / 2;
  const patienceMs = Math.max(patience.shortestMs, Math.min(halfMs, patience.longestMs));
  let errorsInARow = 0;
  let open: { readonly cause: ProviderError; readonly probeAt: number } | undefined;
  let probe: CircuitPass | undefined;
  // counts how often the circuit opened or closed: an error of an operation from before that says nothing about the
  // provider now
  let generation = 0;
  let heardAt = -Infinity;

  function countSuccess(): void {
    heardAt = now();
    errorsInARow = 0;
    if (open === undefined) return;
    open = undefined;
    probe = undefined;
    generation++;
    logger.info("provider circuit closed", { provider });
  }

  function countError(cause: ProviderError, begunIn: number): void {
    if (begunIn !== generation) return;
    errorsInARow++;
    if (open === undefined && errorsInARow < errorsToOpen) return;
    open = { cause, probeAt: now() + openMs };
    generation++;
    logger.warn("provider circuit opened", { provider, fault: cause.kind, openMs, detail: cause.detail });
  }

  function createPass(patienceMs: number): CircuitPass {
    const begunIn = generation;
    const begunAt = now();
    let isEnded = false;
    const end = (effect: () => void) => {
      if (isEnded) return;
      isEnded = true;
      if (probe === pass) probe = undefined;
      effect();
    };
    const pass: CircuitPass = {
      succeed: () => end(countSuccess),
      fail: (thrown) =>
        end(() => {
          if (!(thrown instanceof ProviderError)) return;
          if (thrown.noAnswer !== undefined) countSuccess();
          else if (countedKinds.has(thrown.kind)) countError(thrown, begunIn);
        }),
      leave: () =>
        end(() => {
          const silentMs = Math.round(now() - begunAt);
          if (heardAt >= begunAt || silentMs < patienceMs) return;
          logger.warn("provider was silent until its caller gave up", { provider, silentMs });
          const detail = `nothing arrived for ${silentMs} ms, then the caller gave up`;
          countError(new ProviderError("timeout", detail), begunIn);
        }),
      abandon: () => end(() => {}),
    };
    return pass;
  }

  /**
   * Begins an operation that is more than one promise, such as a stream; the caller must end the pass.
   * @throws {ProviderError} at once, with the kind of error that opened the circuit, while it is open
   */
  function enter(patienceMs = patience.shortestMs): CircuitPass {
    if (open === undefined) return createPass(patienceMs);
    if (now() < open.probeAt || probe !== undefined) {
      const { kind, detail } = open.cause;
      throw new ProviderError(
        kind,
        `not tried, because the provider failed ${errorsToOpen} times in a row: ${detail}`,
      );
    }
    probe = createPass(patienceMs);
    return probe;
  }

  return {
    enter,
    /** `half_open` while the one call is under way that is to find out whether the provider works again. */
    state: (): CircuitState => open === undefined ? "closed" : probe === undefined ? "open" : "half_open",
    /** Goes through a stream. It succeeds with its `end`; its error counts however late it comes. Throws as `run`. */
    async *stream(
      open: () => AsyncIterable<CompletionPart>,
      signal: AbortSignal,
    ): AsyncGenerator<CompletionPart, void, void> {
      const pass = enter();
      // a reader that went away may never ask for the next part, and then the probe would never end
      signal.addEventListener("abort", pass.leave, { once: true });
      try {
        for await (const part of open()) {
          if (part.type === "end") pass.succeed();
          yield part;
        }
      } catch (thrown) {
        if (!signal.aborted) pass.fail(thrown);
        throw thrown;
      } finally {
        pass.abandon();
        signal.removeEventListener("abort", pass.leave);
      }
    },
    /** The provider sent something to some caller. */
    hear(): void {
      heardAt = now();
    },
    /**
     * Runs an operation.
     * @param signal the caller's: an error after its abort means that the caller left
     * @throws {ProviderError} as `enter`, or what the operation throws
     */
    async run<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      const pass = enter(patienceMs);
      try {
        const result = await operation();
        pass.succeed();
        return result;
      } catch (thrown) {
        if (signal?.aborted) pass.leave();
        else pass.fail(thrown);
        throw thrown;
      }
    },
  };
}
