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

/**
 * How an answer ended that is none: `declined` by the model or its filter, or `empty`. The provider works then, and says
 * the same when it is asked again.
 */
export type NoAnswer = "declined" | "empty";

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

/** What went wrong with a provider. Its message is one of eight fixed phrases. */
export class ProviderError extends AppError {
  /** Set where the provider did answer, with nothing that can be used. */
  readonly noAnswer: NoAnswer | undefined;

  /**
   * @param fault which phrase it is
   * @param detail what happened, for the log alone; the one who throws has taken the credentials out of it
   */
  constructor(
    readonly fault: ProviderFault,
    readonly detail: string,
    options: { cause?: unknown; noAnswer?: NoAnswer | undefined } = {},
  ) {
    super(...phrases[fault], options);
    this.noAnswer = options.noAnswer;
  }
}

/**
 * The error for an answer that the model refused, or that a filter took away. Of the eight phrases the one on a request
 * that was rejected comes closest.
 */
export function declined(detail: string): ProviderError {
  return new ProviderError("invalid_request", detail, { noAnswer: "declined" });
}

/** The error for an answer without a text. */
export function emptyAnswer(reason: string): ProviderError {
  return new ProviderError("provider", `the answer is empty: ${reason}`, { noAnswer: "empty" });
}
