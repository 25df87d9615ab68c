/** The closed set of errors that callers are told of; the edges map them to HTTP statuses and JSON-RPC numbers. */
export type ErrorCode =
  | "invalid"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "rate_limited"
  /** With `limit`, its name, and `retryAfterSeconds`. */
  | "quota_exceeded"
  /** With `retryAfterSeconds`. */
  | "overloaded"
  | "unavailable"
  | "upstream"
  | "timeout"
  | "internal";

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
