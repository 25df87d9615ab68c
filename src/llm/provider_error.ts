import { AppError, type ErrorCode } from "../core/app_error.ts";

/** What callers read in place of the provider's own words, which can echo a part of the server's key. */
export const providerErrors = {
  credentials: { code: "upstream", phrase: "the provider rejected the server's credentials" },
  rate_limit: { code: "rate_limited", phrase: "the provider's rate limit was exceeded; retry later" },
  invalid_request: { code: "upstream", phrase: "the provider rejected the request as invalid" },
  unsupported: { code: "upstream", phrase: "the operation is not supported by the configured provider" },
  provider: { code: "upstream", phrase: "the provider returned an error" },
  unreachable: { code: "unavailable", phrase: "the provider could not be reached" },
  timeout: { code: "timeout", phrase: "the request took too long" },
  internal: { code: "internal", phrase: "an internal error occurred" },
} as const satisfies Readonly<Record<string, { readonly code: ErrorCode; readonly phrase: string }>>;

/** The kinds of error that a caller may tell apart. */
export type ProviderErrorKind = keyof typeof providerErrors;

/**
 * Why a provider that works gave no answer: the model or a filter declined, or the answer was empty. Asked again, it
 * says the same.
 */
export type NoAnswer = "declined" | "empty";

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
    const { code, phrase } = providerErrors[kind];
    super(code, phrase, options);
    this.noAnswer = options.noAnswer;
  }
}

/**
 * The error for an answer that the model refused, or that a filter took away. The phrase for a rejected request
 * comes closest.
 */
export function declined(detail: string): ProviderError {
  return new ProviderError("invalid_request", detail, { noAnswer: "declined" });
}

/** The error for an answer without a text. */
export function emptyAnswer(reason: string): ProviderError {
  return new ProviderError("provider", `the answer is empty: ${reason}`, { noAnswer: "empty" });
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
const kindsByName: ReadonlyMap<string, ProviderErrorKind> = new Map(
  ([
    [
      "credentials",
      "authentication_error permission_error billing_error invalid_api_key UNAUTHENTICATED PERMISSION_DENIED",
    ],
    ["rate_limit", "rate_limit_error rate_limit_exceeded insufficient_quota RESOURCE_EXHAUSTED"],
    [
      "invalid_request",
      "invalid_request_error request_too_large not_found_error INVALID_ARGUMENT FAILED_PRECONDITION NOT_FOUND",
    ],
    ["timeout", "timeout_error DEADLINE_EXCEEDED"],
  ] as const).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind])),
);

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
  const said = [...given, message ?? ""].join(" ").slice(0, 500);
  return new ProviderError(kind, `an error within the reply: ${said}`);
}

function kindOfName(name: string | number): ProviderErrorKind | undefined {
  if (typeof name === "string") return kindsByName.get(name);
  return name >= 400 && name < 600 ? kindOfStatus(name) : undefined;
}
