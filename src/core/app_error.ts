/** What an error tells, and what to do about it: docs/errors.md is made of these. */
export interface ErrorMeaning {
  readonly means: string;
  readonly remedy: string;
}

/** The closed set of errors that callers are told of; the edges map them to HTTP statuses and JSON-RPC numbers. */
export const errorCodes = {
  invalid: {
    means: "An argument, a setting or a file is not as expected; the message names it",
    remedy: "Correct what the message names; the same request fails again",
  },
  unauthorized: {
    means: "The caller is not logged in, or no longer",
    remedy: "Log in again",
  },
  forbidden: {
    means: "The caller may not do that: the token lacks a scope, or a file or a role belongs to another user",
    remedy: "Get a token with the scopes in `data.scopes`; else do what the message says",
  },
  not_found: {
    means: "There is nothing of that name, or the caller may not know of it",
    remedy: "Correct the name; list what there is",
  },
  conflict: {
    means: "Something is there already, was made by another version, or changes at the same time",
    remedy: "Do what the message says, then try again",
  },
  rate_limited: {
    means: "Too many requests or failed logins",
    remedy: "Wait as long as the reply says, then try again",
  },
  /** With `limit`, its name, and `retryAfterSeconds`. */
  quota_exceeded: {
    means: "The caller has used up a limit; `data.limit` names it",
    remedy: "Wait for `data.retryAfterSeconds`, then try again; for an operator: raise it in `limits`",
  },
  /** With `retryAfterSeconds`. */
  overloaded: {
    means: "There is no room for the call now, or its line in the audit trail cannot be written",
    remedy: "Wait for `data.retryAfterSeconds`, then try again",
  },
  unavailable: {
    means: "A database, provider, file or address cannot be reached or used",
    remedy: "Try again later; for an operator, `-doctor` says what to mend",
  },
  upstream: {
    means: "A database or provider was reached, and answered with an error",
    remedy: "For an operator: the log has the detail",
  },
  timeout: {
    means: "It took too long and was ended",
    remedy: "Ask for less, or have the operator raise the limit that the message names",
  },
  internal: {
    means: "A fault of Postern",
    remedy: "For an operator: the log has the detail under the request's id; report it",
  },
} as const satisfies Readonly<Record<string, ErrorMeaning>>;

export type ErrorCode = keyof typeof errorCodes;

/** Facts about an error that a caller may see; never a secret, never a stack. */
type ErrorData = Readonly<Record<string, unknown>>;

/**
 * The one error type whose message may reach a caller. Messages read "Cannot <verb> <object>: <reason>",
 * without a full stop. Anything else that is thrown becomes `internal` with a fixed text at the edge.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly data: ErrorData | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: { cause?: unknown; data?: ErrorData } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.data = options.data;
  }
}
