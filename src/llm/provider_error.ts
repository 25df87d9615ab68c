import { AppError, type ErrorCode } from "../core/app_error.ts";

/** The kinds of error that a caller may tell apart. */
export type ProviderErrorKind =
  | "credentials"
  | "rate_limit"
  | "invalid_request"
  | "unsupported"
  | "provider"
  | "unreachable"
  | "timeout"
  | "internal";

/**
 * Why a provider that works gave no answer: the model or a filter declined, or the answer was empty. Asked again, it
 * says the same.
 */
export type NoAnswer = "declined" | "empty";

// What callers read in place of the provider's own words, which can echo a part of the server's key.
const phrases: Readonly<Record<ProviderErrorKind, readonly [ErrorCode, string]>> = {
  credentials: ["upstream", "the provider rejected the server's credentials"],
  rate_limit: ["rate_limited", "the provider's rate limit was exceeded; retry later"],
  invalid_request: ["upstream", "the provider rejected the request as invalid"],
  unsupported: ["upstream", "the operation is not supported by the configured provider"],
  provider: ["upstream", "the provider returned an error"],
  unreachable: ["unavailable", "the provider could not be reached"],
  timeout: ["timeout", "the request took too long"],
  internal: ["internal", "an internal error occurred"],
};

/** An error of a provider. Its message is one of eight fixed phrases. */
export class ProviderError extends AppError {
  /** Set where the provider did reply, without an answer. */
  readonly noAnswer: NoAnswer | undefined;

  /**
   * @param kind decides the phrase
   * @param detail what happened, for the log alone; credentials have been taken out of it
   */
  constructor(
    readonly kind: ProviderErrorKind,
    readonly detail: string,
    options: { cause?: unknown; noAnswer?: NoAnswer | undefined } = {},
  ) {
    super(...phrases[kind], options);
    this.noAnswer = options.noAnswer;
  }
}

/**
 * The error for an answer that the model refused, or that a filter took away. The phrase for a rejected request comes
 * closest.
 */
export function declined(detail: string): ProviderError {
  return new ProviderError("invalid_request", detail, { noAnswer: "declined" });
}

/** The error for an answer without a text. */
export function emptyAnswer(reason: string): ProviderError {
  return new ProviderError("provider", `the answer is empty: ${reason}`, { noAnswer: "empty" });
}
