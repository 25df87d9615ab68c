import { type CircuitBreaker, createCircuitBreaker } from "./circuit_breaker.ts";
import type { ProviderOptions } from "./provider_options.ts";
import { providerName } from "./transport/vendor_exchange.ts";

export interface WatchedProvider {
  readonly breaker: CircuitBreaker;
  /** What makes the provider that the breaker is for. */
  readonly options: ProviderOptions;
}

/** A model may think in silence for long, yet clients of the Model Context Protocol leave after 60 seconds. */
const patience = { shortestMs: 20_000, longestMs: 45_000 };

/**
 * A provider's circuit breaker, and the provider's options with which it tells the breaker of its replies.
 * @param now milliseconds of a clock that never goes back
 */
export function watchedProvider(options: ProviderOptions, now = () => performance.now()): WatchedProvider {
  const halfMs = (options.requestTimeoutMs || Infinity) / 2;
  const breaker = createCircuitBreaker({
    now,
    patienceMs: Math.max(patience.shortestMs, Math.min(halfMs, patience.longestMs)),
    logger: options.logger,
    provider: providerName(options),
  });
  return { breaker, options: { ...options, onReply: breaker.hear } };
}
