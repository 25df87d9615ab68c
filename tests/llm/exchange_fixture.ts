import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import {
  createHttpExchange,
  type HttpExchange,
  type HttpExchangeOptions,
} from "../../src/llm/transport/http_exchange.ts";
import { ProviderError, type ProviderFault } from "../../src/llm/provider_error.ts";

export const never = new AbortController().signal;

/** An exchange that never waits between attempts. */
export function exchangeWith(baseUrl: string, options: Partial<HttpExchangeOptions> = {}): HttpExchange {
  return createHttpExchange({
    provider: "test/model",
    baseUrl,
    authHeaders: () => ({ authorization: "Bearer the-key-of-the-server" }),
    secrets: () => ["the-key-of-the-server"],
    requestTimeoutMs: 20_000,
    perAttemptTimeoutMs: 10_000,
    logger: silentLogger,
    random: () => 0,
    sleep: () => Promise.resolve(),
    ...options,
  });
}

/** The fault that a promise fails with. */
export async function faultOf(promise: Promise<unknown>): Promise<ProviderError> {
  try {
    await promise;
  } catch (thrown) {
    assert.ok(thrown instanceof ProviderError, `not a provider's fault: ${thrown}`);
    return thrown;
  }
  throw new Error("nothing failed");
}

export async function assertFault(promise: Promise<unknown>, fault: ProviderFault): Promise<void> {
  assert.equal((await faultOf(promise)).fault, fault);
}
