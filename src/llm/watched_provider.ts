import { type CircuitBreaker, createCircuitBreaker } from "./circuit_breaker.ts";
import type { ProviderOptions } from "./provider_options.ts";
import { providerName } from "./vendor_exchange.ts";

export interface WatchedProvider {
  readonly breaker: CircuitBreaker;
  /** What makes the provider that the breaker is for. */
  readonly options: ProviderOptions;
}

/** A provider's circuit breaker, and the provider's options with which it tells the breaker of its silence. */
export function watchedProvider(options: ProviderOptions): WatchedProvider {
  const breaker = createCircuitBreaker({
    now: () => performance.now(),
    logger: options.logger,
    provider: providerName(options),
  });
  return { breaker, options: { ...options, onSilence: breaker.report } };
}
