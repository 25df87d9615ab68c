import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import type { ProviderOptions } from "../../src/llm/provider.ts";
import { ProviderError, type ProviderErrorKind } from "../../src/llm/provider_error.ts";
import { createVendorExchange, type VendorExchange } from "../../src/llm/transport/exchange.ts";
import type { VendorInterface } from "../../src/llm/transport/http_attempt.ts";

export const never = new AbortController().signal;

/** An exchange that never waits between attempts. */
export function exchangeWith(
  baseUrl: string,
  options: Partial<ProviderOptions & VendorInterface> = {},
): VendorExchange {
  const all = {
    kind: "openai",
    model: "model",
    apiKey: () => "the-key-of-the-server",
    requestTimeoutMs: 20_000,
    perAttemptTimeoutMs: 10_000,
    logger: silentLogger,
    random: () => 0,
    sleep: () => Promise.resolve(),
    needsKey: false,
    authHeaders: (key: string) => ({ authorization: `Bearer ${key}` }),
    ...options,
    baseUrl,
  } as const;
  return createVendorExchange(all, all);
}

/** The error that a promise fails with. */
export async function errorOf(promise: Promise<unknown>): Promise<ProviderError> {
  try {
    await promise;
  } catch (thrown) {
    assert.ok(thrown instanceof ProviderError, `not a provider's error: ${thrown}`);
    return thrown;
  }
  throw new Error("nothing failed");
}

export async function assertError(promise: Promise<unknown>, fault: ProviderErrorKind): Promise<void> {
  assert.equal((await errorOf(promise)).kind, fault);
}
