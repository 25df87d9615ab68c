import { type NoAnswer, ProviderError, type ProviderErrorKind } from "../provider_error.ts";

export interface AttemptErrorFacts {
  /** The same request may fare better in a moment. */
  readonly isPassing?: boolean;
  readonly status?: number;
  /** The wait that the provider asked for, in milliseconds. */
  readonly askedDelayMs?: number | undefined;
  /** The vendor's own name for the request. */
  readonly requestId?: string | undefined;
  readonly noAnswer?: NoAnswer | undefined;
}

/** The error of one attempt. It does not leave the exchange, since its message still holds what the provider wrote. */
export class AttemptError extends Error {
  constructor(readonly kind: ProviderErrorKind, message: string, readonly facts: AttemptErrorFacts = {}) {
    super(message);
  }
}

/** Gives what was thrown a kind, where it has none yet. */
export function asAttemptError(
  thrown: unknown,
  kind: ProviderErrorKind,
  facts: AttemptErrorFacts = {},
): AttemptError {
  if (thrown instanceof AttemptError) return thrown;
  if (thrown instanceof ProviderError) {
    return new AttemptError(thrown.kind, thrown.detail, { noAnswer: thrown.noAnswer });
  }
  return new AttemptError(kind, messageOf(thrown), facts);
}

/** For names that do not resolve, refused and broken connections, and failed TLS. */
export function asBrokenConnection(thrown: unknown): AttemptError {
  return asAttemptError(thrown, "unreachable", { isPassing: true });
}

function messageOf(thrown: unknown): string {
  const texts: string[] = [];
  for (let error = thrown; error instanceof Error && texts.length < 4; error = error.cause) {
    texts.push(error.message);
  }
  return texts.join(": ") || String(thrown);
}

const kindsByStatus: Readonly<Record<number, ProviderErrorKind>> = {
  401: "credentials",
  // the account behind the key has no money left, which the operator must mend, as with a key
  402: "credentials",
  403: "credentials",
  // a model's name that the vendor does not know, far more often than a wrong base URL; our request holds both
  404: "invalid_request",
  // the address exists and does not do this
  405: "unsupported",
  407: "credentials",
  408: "timeout",
  // a lock that the vendor holds for a moment
  409: "provider",
  425: "provider",
  429: "rate_limit",
  501: "unsupported",
};

const passingStatuses = new Set([408, 409, 425, 429]);

/**
 * What a reply's status says went wrong.
 * @param status any that is no success; redirects too, which are never followed with a key in the headers
 */
export function kindOfStatus(status: number): ProviderErrorKind {
  return kindsByStatus[status] ?? (status >= 400 && status < 500 ? "invalid_request" : "provider");
}

/** Whether the same request may fare better in a moment. */
export function isPassingStatus(status: number): boolean {
  return passingStatuses.has(status) || (status >= 500 && status !== 501);
}

// Anthropic's and OpenAI's error types and codes, and Google's status names
const kindsByName = new Map<string, ProviderErrorKind>([
  ["authentication_error", "credentials"],
  ["permission_error", "credentials"],
  ["billing_error", "credentials"],
  ["invalid_api_key", "credentials"],
  ["UNAUTHENTICATED", "credentials"],
  ["PERMISSION_DENIED", "credentials"],
  ["rate_limit_error", "rate_limit"],
  ["rate_limit_exceeded", "rate_limit"],
  ["insufficient_quota", "rate_limit"],
  ["RESOURCE_EXHAUSTED", "rate_limit"],
  ["invalid_request_error", "invalid_request"],
  ["request_too_large", "invalid_request"],
  ["not_found_error", "invalid_request"],
  ["INVALID_ARGUMENT", "invalid_request"],
  ["FAILED_PRECONDITION", "invalid_request"],
  ["NOT_FOUND", "invalid_request"],
  ["timeout_error", "timeout"],
  ["DEADLINE_EXCEEDED", "timeout"],
]);

/**
 * The error that a vendor writes into a stream or a reply whose status is 200; `provider` if none of its names is
 * known. The vendor's sentence goes into the detail as it is.
 * @param names the error's type, code or status; a number is an HTTP status
 */
export function errorWithinReply(
  message: string | null | undefined,
  ...names: readonly (string | number | null | undefined)[]
): ProviderError {
  const given = names.filter((name) => name !== undefined && name !== null);
  const kind = given.map(kindOfName).find((known) => known !== undefined) ?? "provider";
  return new ProviderError(
    kind,
    `an error within the reply: ${[...given, message ?? ""].join(" ").slice(0, 500)}`,
  );
}

function kindOfName(name: string | number): ProviderErrorKind | undefined {
  if (typeof name === "string") return kindsByName.get(name);
  return name >= 400 && name < 600 ? kindOfStatus(name) : undefined;
}
