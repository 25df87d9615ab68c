import type { Logger } from "../core/logger.ts";
import { ProviderError, type ProviderFault } from "./provider_error.ts";

export interface CircuitBreakerOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** So many failures in a row open the circuit; 5 where absent. */
  readonly failures?: number;
  /** How long it stays open before a probe, in milliseconds; 30,000 where absent. */
  readonly openMs?: number;
  /** From how long a silence on a caller of `run` that leaves has waited in vain, in milliseconds; 20,000 where absent. */
  readonly patienceMs?: number;
  readonly logger: Logger;
  /** For logs. */
  readonly provider: string;
}

/** Leave for one operation. The first of its ends counts; what comes later is ignored. */
export interface CircuitPass {
  /** Closes the circuit, also where it opened while the operation ran: the provider works. */
  succeed(): void;
  /** Counts what tells of the provider's health, an answer that is none as a success; anything else is as good as `abandon`. */
  fail(thrown: unknown): void;
  /**
   * The caller left. Counts as a `timeout` where the provider has sent nothing to anybody since the operation began, for
   * long enough: callers seldom wait for our own limits.
   */
  leave(): void;
  /** The operation ended without telling anything about the provider. */
  abandon(): void;
}

/** Spares a provider that is down, and its callers the wait for it. */
export interface CircuitBreaker {
  /**
   * Begins an operation whose end is not that of one promise; the caller must end the pass.
   * @param patienceMs from how long a silence on a caller that leaves has waited in vain; 20,000 where absent
   * @throws {ProviderError} at once, with the fault that opened the circuit, while it is open
   */
  enter(patienceMs?: number): CircuitPass;
  /**
   * Runs an operation.
   * @param signal the caller's: what fails after its abort is the caller's leaving
   * @throws {ProviderError} as `enter`, or what the operation throws
   */
  run<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** The provider sent something, whatever it was, to anybody. */
  hear(): void;
}

// Not `invalid_request` and `unsupported`: one caller's bad request must not shut others out. Not `credentials`: a
// refusal comes fast and costs nothing, and a key that was replaced has to take effect at once. Not `internal`: that
// fault is ours.
const countedFaults: ReadonlySet<ProviderFault> = new Set([
  "unreachable",
  "timeout",
  "provider",
  "rate_limit",
]);

const shortestPatienceMs = 20_000;

interface OpenCircuit {
  readonly cause: ProviderError;
  readonly probeAt: number;
}

export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  const { now, failures: limit = 5, openMs = 30_000, logger, provider } = options;
  const { patienceMs = shortestPatienceMs } = options;
  let failuresInARow = 0;
  let open: OpenCircuit | undefined;
  let probe: CircuitPass | undefined;
  // a failure of an operation from before the circuit opened or closed says nothing about how the provider is now
  let era = 0;
  let heardAt = -Infinity;

  function openCircuit(cause: ProviderError): void {
    open = { cause, probeAt: now() + openMs };
    era++;
    logger.warn("provider circuit opened", { provider, fault: cause.fault, openMs, detail: cause.detail });
  }

  function closeCircuit(): void {
    open = undefined;
    probe = undefined;
    era++;
    failuresInARow = 0;
    logger.info("provider circuit closed", { provider });
  }

  function hear(): void {
    heardAt = now();
  }

  function countSuccess(): void {
    hear();
    if (open !== undefined) closeCircuit();
    failuresInARow = 0;
  }

  function countFailure(failure: ProviderError, begunIn: number): void {
    if (begunIn !== era) return;
    failuresInARow++;
    if (open !== undefined || failuresInARow >= limit) openCircuit(failure);
  }

  function createPass(patience: number): CircuitPass {
    const begunIn = era;
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
          else if (countedFaults.has(thrown.fault)) countFailure(thrown, begunIn);
        }),
      leave: () =>
        end(() => {
          const silentMs = Math.round(now() - begunAt);
          if (heardAt >= begunAt || silentMs < patience) return;
          logger.warn("provider was silent until its caller gave up", { provider, silentMs });
          const detail = `nothing arrived for ${silentMs} ms, then the caller gave up`;
          countFailure(new ProviderError("timeout", detail), begunIn);
        }),
      abandon: () => end(() => {}),
    };
    return pass;
  }

  function enter(patience = shortestPatienceMs): CircuitPass {
    if (open === undefined) return createPass(patience);
    const waitMs = open.probeAt - now();
    if (waitMs > 0 || probe !== undefined) {
      const { fault, detail } = open.cause;
      throw new ProviderError(
        fault,
        `not tried, since the provider failed ${limit} times in a row: ${detail}`,
      );
    }
    probe = createPass(patience);
    return probe;
  }

  return {
    enter,
    hear,
    async run(operation, signal) {
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
