import { createHttpExchange, type ExchangeRequest, type StreamItem } from "./http_exchange.ts";
import { ProviderError, type ProviderFault } from "../provider_error.ts";
import type { ProviderOptions } from "../provider_options.ts";
import { scrubSecrets } from "./scrub_secrets.ts";

/** What is particular to a vendor's HTTP interface. */
export interface VendorInterface {
  readonly baseUrl: string;
  /** Whether a request without a key is pointless. */
  readonly needsKey: boolean;
  readonly authHeaders: (key: string) => Readonly<Record<string, string>>;
  /** Corrects the fault where the vendor's status alone would tell it wrong. */
  readonly correctFault?: (error: ProviderError) => ProviderFault;
  /** Whether an error is the model's refusal to answer. */
  readonly isDeclined?: (error: ProviderError) => boolean;
  /** What to think of where an address is not found. */
  readonly notFoundHint?: string | undefined;
}

/** An exchange whose replies and items are read where the key is known, and so can be kept out of errors. */
export interface VendorExchange {
  /** @throws {ProviderError} what `read` throws among it, or the signal's reason */
  send<T>(request: ExchangeRequest & { readonly read: (json: unknown) => T }): Promise<T>;
  /** @throws {ProviderError} what `read` throws among it, or the signal's reason */
  stream<T>(
    request: ExchangeRequest & {
      readonly format: "events" | "lines";
      readonly read: (item: StreamItem) => T;
    },
  ): AsyncGenerator<T, void, undefined>;
}

/**
 * The exchange with one vendor. A request that needs a key and has none fails as `credentials` before any
 * network is used.
 */
export function createVendorExchange(options: ProviderOptions, vendor: VendorInterface): VendorExchange {
  const key = () => options.apiKey()?.trim() || undefined;
  const secrets = () => [key() ?? "", ...Object.values(options.headers ?? {})];
  const exchange = createHttpExchange({
    ...options,
    provider: providerName(options),
    baseUrl: vendor.baseUrl,
    authHeaders: () => {
      const current = key();
      return current === undefined ? {} : vendor.authHeaders(current);
    },
    secrets,
    notFoundHint: vendor.notFoundHint,
  });

  function demandKey(): void {
    if (!vendor.needsKey || key() !== undefined) return;
    const detail = `no API key for ${options.kind} is configured`;
    options.logger.warn("A provider cannot be asked", { provider: providerName(options), detail });
    throw new ProviderError("credentials", detail);
  }

  function corrected(thrown: unknown): unknown {
    if (!(thrown instanceof ProviderError)) return thrown;
    const fault = vendor.correctFault?.(thrown) ?? thrown.fault;
    const noAnswer = thrown.noAnswer ?? (vendor.isDeclined?.(thrown) ? "declined" : undefined);
    return new ProviderError(fault, scrubSecrets(thrown.detail, secrets()), { noAnswer });
  }

  /** The exchange logs what fails in it; what a vendor writes into a stream is seen here first. */
  function readLogged<T>(read: (item: StreamItem) => T, item: StreamItem): T {
    try {
      return read(item);
    } catch (thrown) {
      const error = corrected(thrown);
      if (error instanceof ProviderError) {
        const { fault, detail, noAnswer } = error;
        const fields = { provider: providerName(options), fault, detail };
        if (noAnswer === undefined) options.logger.warn("A provider's stream failed", fields);
        else options.logger.info("a model gave no answer", fields);
      }
      throw error;
    }
  }

  return {
    async send(request) {
      demandKey();
      try {
        return await exchange.send(request);
      } catch (thrown) {
        throw corrected(thrown);
      }
    },
    async *stream({ read, ...request }) {
      demandKey();
      try {
        for await (const item of exchange.stream(request)) yield readLogged(read, item);
      } catch (thrown) {
        throw corrected(thrown);
      }
    },
  };
}

/** Kind and model, as in `anthropic/claude-sonnet-5-5`. */
export function providerName(options: ProviderOptions): string {
  return `${options.kind}/${options.model}`;
}

export function bearer(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}

/** A base URL that ends with a version: `version` is added where it names none. */
export function versionedUrl(baseUrl: string, version: string): string {
  const url = baseUrl.replace(/\/+$/, "");
  return /\/v\d+[a-z]*\d*$/.test(url) ? url : `${url}/${version}`;
}
