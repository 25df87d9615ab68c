import type { Logger } from "../core/logger.ts";
import { ProviderError, type ProviderFault } from "./provider_error.ts";

export interface CircuitBreakerOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** So many failures in a row open the circuit; 5 where absent. */
  readonly failures?: number;
  /** How long it stays open before a probe, in milliseconds; 30,000 where absent. */
  readonly openMs?: number;
  readonly logger: Logger;
  /** For logs. */
  readonly provider: string;
}

/** Leave for one operation. The first of its three ends counts; what comes later is ignored. */
export interface CircuitPass {
  succeed(): void;
  /** Counts what tells of the provider's health, an answer that is none as a success; anything else is as good as `abandon`. */
  fail(thrown: unknown): void;
  /** The operation ended without telling anything about the provider, as by the caller's abort. */
  abandon(): void;
}

/** Spares a provider that is down, and its callers the wait for it. */
export interface CircuitBreaker {
  /**
   * Begins an operation whose end is not that of one promise; the caller must end the pass.
   * @throws {ProviderError} at once, with the fault that opened the circuit, while it is open
   */
  enter(): CircuitPass;
  /**
   * Runs an operation.
   * @param signal the caller's: what fails after its abort counts as nothing
   * @throws {ProviderError} as `enter`, or what the operation throws
   */
  run<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Counts a failure that no pass tells of: the provider was silent until its caller went away. */
  report(failure: ProviderError): void;
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

interface OpenCircuit {
  readonly cause: ProviderError;
  readonly probeAt: number;
}

export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  const { now, failures: limit = 5, openMs = 30_000, logger, provider } = options;
  let failuresInARow = 0;
  let open: OpenCircuit | undefined;
  let probe: CircuitPass | undefined;
  // an operation from before the circuit opened or closed says nothing about how the provider is now
  let era = 0;

  function openCircuit(cause: ProviderError): void {
    open = { cause, probeAt: now() + openMs };
    era++;
    logger.warn("provider circuit opened", { provider, fault: cause.fault, openMs, detail: cause.detail });
  }

  function closeCircuit(): void {
    open = undefined;
    era++;
    failuresInARow = 0;
    logger.info("provider circuit closed", { provider });
  }

  function countSuccess(): void {
    if (open !== undefined) closeCircuit();
    failuresInARow = 0;
  }

  function countFailure(failure: ProviderError): void {
    failuresInARow++;
    if (open !== undefined || failuresInARow >= limit) openCircuit(failure);
  }

  function createPass(): CircuitPass {
    const begunIn = era;
    let isEnded = false;
    const end = (effect: () => void) => {
      if (isEnded) return;
      isEnded = true;
      if (probe === pass) probe = undefined;
      if (begunIn === era) effect();
    };
    const pass: CircuitPass = {
      succeed: () => end(countSuccess),
      fail: (thrown) =>
        end(() => {
          if (!(thrown instanceof ProviderError)) return;
          if (thrown.noAnswer !== undefined) countSuccess();
          else if (countedFaults.has(thrown.fault)) countFailure(thrown);
        }),
      abandon: () => end(() => {}),
    };
    return pass;
  }

  function enter(): CircuitPass {
    if (open === undefined) return createPass();
    const waitMs = open.probeAt - now();
    if (waitMs > 0 || probe !== undefined) {
      const { fault, detail } = open.cause;
      throw new ProviderError(
        fault,
        `not tried, since the provider failed ${limit} times in a row: ${detail}`,
      );
    }
    probe = createPass();
    return probe;
  }

  return {
    enter,
    report(failure) {
      // while nobody is let through, only requests from before can end
      if (open === undefined || probe !== undefined) countFailure(failure);
    },
    async run(operation, signal) {
      const pass = enter();
      try {
        const result = await operation();
        pass.succeed();
        return result;
      } catch (thrown) {
        if (signal?.aborted) pass.abandon();
        else pass.fail(thrown);
        throw thrown;
      }
    },
  };
}
