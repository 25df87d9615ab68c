import { AppError, type ErrorCode } from "../core/app_error.ts";

/** The kinds of fault that a caller may tell apart. */
export type ProviderFault =
  | "credentials"
  | "rate_limit"
  | "invalid_request"
  | "unsupported"
  | "provider"
  | "unreachable"
  | "timeout"
  | "internal";

// What a caller reads, whatever the provider wrote: its error bodies can echo a part of the server's key.
const phrases: Readonly<Record<ProviderFault, readonly [ErrorCode, string]>> = {
  credentials: ["upstream", "the provider rejected the server's credentials"],
  rate_limit: ["rate_limited", "the provider's rate limit was exceeded; retry later"],
  invalid_request: ["upstream", "the provider rejected the request as invalid"],
  unsupported: ["upstream", "the operation is not supported by the configured provider"],
  provider: ["upstream", "the provider returned an error"],
  unreachable: ["unavailable", "the provider could not be reached"],
  timeout: ["timeout", "the request took too long"],
  internal: ["internal", "an internal error occurred"],
};

/** A provider's failure. Its message is one of eight fixed phrases. */
export class ProviderError extends AppError {
  /**
   * @param fault which phrase it is
   * @param detail what happened, for the log alone; the one who throws has taken the credentials out of it
   */
  constructor(readonly fault: ProviderFault, readonly detail: string, options: { cause?: unknown } = {}) {
    super(...phrases[fault], options);
  }
}
