import { z } from "@hono/zod-openapi";
import { AppError } from "../../core/app_error.ts";
import { CallEnded, type EndOfCall } from "../../core/async/abort.ts";
import type { Body } from "../../http/request_body.ts";
import { bearerChallenge } from "../../identity/authentication.ts";
import type { LoginResult } from "../../identity/login.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { databaseUnreachable } from "../pipeline.ts";
import { jsonReply } from "./json_reply.ts";
import { UntoldCallerError } from "../../postgres/read/caller_settings.ts";

/** Each code with its HTTP status. */
export const ragErrors = {
  INVALID_REQUEST: {
    status: 400,
    means:
      "The body or a field of it is not as described, or the filter names a column that does not exist or is not for filters",
  },
  IDENTITY_MALFORMED: {
    status: 400,
    means:
      "The header with the caller's claims holds no JSON object in UTF-8, a name twice, or more than 8 KiB",
  },
  UNAUTHORIZED: {
    status: 401,
    means: "There is no token in the Authorization header, or none that is valid; or a login failed",
  },
  IDENTITY_REQUIRED: { status: 401, means: "The proxy sent neither claims nor the name of a caller" },
  FORBIDDEN: {
    status: 403,
    means:
      "The server may not be called by the host that the Host header names, the token lacks a scope that it needs, or the pipeline does not show its documents",
  },
  IDENTITY_UNTRUSTED_PEER: {
    status: 403,
    means: "The request did not come through a proxy that may say who asks",
  },
  IDENTITY_CLAIM_REQUIRED: {
    status: 403,
    means:
      "The database decides by a claim what may be read, and the caller has none that fits; the message names it. API tokens and the server's own users have no claims",
  },
  IDENTITY_ROLE_NOT_ALLOWED: {
    status: 403,
    means: "The caller's claims or name stand for a database role that is not allowed",
  },
  NOT_FOUND: { status: 404, means: "There is nothing at this path" },
  PIPELINE_NOT_FOUND: { status: 404, means: "No pipeline of that name, or none that the caller may use" },
  METHOD_NOT_ALLOWED: { status: 405, means: "Another method than those described for the path" },
  REQUEST_TOO_LARGE: {
    status: 413,
    means: "The body is larger than the path takes: 1 MiB, or 64 KiB to log in",
  },
  RATE_LIMITED: { status: 429, means: "Too many logins from the client's address have failed" },
  QUOTA_EXCEEDED: { status: 429, means: "The caller has used up a limit; the message names it" },
  EXECUTION_ERROR: { status: 500, means: "A provider or the database failed" },
  INTERNAL_ERROR: { status: 500, means: "A fault of Postern" },
  OVERLOADED: {
    status: 503,
    means:
      "The server has no room for the query, too few connections to its database, or cannot write its audit trail",
  },
  UNAVAILABLE: {
    status: 503,
    means: "The server cannot reach the database, as while that restarts, or the identity provider",
  },
  REQUEST_TIMEOUT: { status: 504, means: "The answer took longer than the server allows" },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly means: string }>>;

/** An error as a client sees it. */
export interface RagError {
  readonly code: keyof typeof ragErrors;
  readonly message: string;
  /** After how long it may be tried again. */
  readonly retryAfterSeconds?: number;
}

const internalPhrase = "an internal error occurred";
const timeoutPhrase = "the request took too long";

export const internalError: RagError = { code: "INTERNAL_ERROR", message: internalPhrase };
export const timeoutError: RagError = { code: "REQUEST_TIMEOUT", message: timeoutPhrase };
export const overloadedError: RagError = {
  code: "OVERLOADED",
  message: "the server has no room for the request now; retry later",
  retryAfterSeconds: 1,
};
/** For a database of a pipeline that cannot be reached. */
export const databaseError: RagError = {
  code: "UNAVAILABLE",
  message: databaseUnreachable,
  retryAfterSeconds: 2,
};
export const hostError: RagError = {
  code: "FORBIDDEN",
  message:
    "the Host header names a host that this server does not serve; behind a proxy that passes Host on, list the " +
    "proxy's host name in server.allowed_hosts",
};

/** One for a missing, a wrong and an expired token: none of them may be told apart. */
export const unauthorizedError: RagError = {
  code: "UNAUTHORIZED",
  message: "a valid token is needed in the header Authorization: Bearer TOKEN",
};
/** Where it cannot be told now whether a token is good. */
export const identityError: RagError = {
  code: "UNAVAILABLE",
  message: "Cannot tell who is calling: the identity provider does not answer",
};
/** Of a token that lacks scopes, which are named. */
export const scopeError: RagError = {
  code: "FORBIDDEN",
  message: "the access token does not have the scope docs:read",
};

/** Of a search in a pipeline without `allow_include_sources`. */
export const passagesError: RagError = {
  code: "FORBIDDEN",
  message: "the pipeline does not show its documents; ask it a question",
};

/** Of claims in a header. None of them quotes what came. */
export const identityErrors = {
  required: {
    code: "IDENTITY_REQUIRED",
    message: "the request does not say who asks: the proxy has to send the caller's claims",
  },
  malformed: {
    code: "IDENTITY_MALFORMED",
    message:
      "the header with the caller's identity: expected a JSON object of at most 8 KiB in UTF-8 that has no name twice",
  },
  untrusted: {
    code: "IDENTITY_UNTRUSTED_PEER",
    message: "who asks is taken from trusted proxies alone, and this address is none",
  },
  role: {
    code: "IDENTITY_ROLE_NOT_ALLOWED",
    message: "the caller's claims name a role that is not allowed",
  },
} as const satisfies Readonly<Record<string, RagError>>;

/** Why the headers of a request do not tell who asks. */
export type IdentityRefusal = keyof typeof identityErrors;

/** Callers make up the names of pipelines that there are not: so much of one is told. */
export const namedCharacters = 100;

/** Where no pipeline has the name, or none that the caller may use. */
export function noPipeline(name: string): RagError {
  const shown = JSON.stringify(name.slice(0, namedCharacters));
  return { code: "PIPELINE_NOT_FOUND", message: `there is no pipeline ${shown}` };
}

const bodyFaults = {
  not_utf8: "expected JSON in UTF-8",
  broken: "it did not arrive completely",
} as const;

/** For a body that could not be read. @param most how large it may be */
export function bodyError(kind: Exclude<Body["kind"], "text">, most: string): RagError {
  return kind === "too_large"
    ? { code: "REQUEST_TOO_LARGE", message: `the body: expected at most ${most}` }
    : { code: "INVALID_REQUEST", message: `the body: ${bodyFaults[kind]}` };
}

/** For a login without success. Every kind of `failed` is the same. */
export function loginError(result: Exclude<LoginResult, { kind: "success" }>): RagError {
  if (result.kind === "failed") return { code: "UNAUTHORIZED", message: "authentication failed" };
  const { retryAfterSeconds } = result;
  const [code, reason] = loginFaults[result.kind];
  return { code, message: `${reason}; try again later`, retryAfterSeconds };
}

const loginFaults = {
  rate_limited: ["RATE_LIMITED", "too many failed logins"],
  busy: ["OVERLOADED", "too many logins are waiting"],
  unavailable: ["OVERLOADED", "nobody can log in at the moment"],
} as const;

/** The reply of an error. @param bodyOf what it says */
export function errorReply(
  error: RagError,
  headers: Readonly<Record<string, string>> = {},
  bodyOf: (error: RagError) => unknown = ({ code, message }) => ({ error: { code, message } }),
): Response {
  const { code, retryAfterSeconds } = error;
  return jsonReply(JSON.stringify(bodyOf(error)), ragErrors[code].status, {
    ...(code === "UNAUTHORIZED" && { "www-authenticate": bearerChallenge() }),
    ...headers,
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  });
}

/** What {@linkcode errorReply} sends, for the description of the API. */
export const errorSchema = z.object({
  error: z.object({
    code: z.string().openapi({ enum: Object.keys(ragErrors) }),
    message: z.string(),
  }),
}).openapi("ErrorResponse");

/**
 * What a client may know of what a pipeline threw. Only a provider's phrase and a fault of the request are told as they
 * are; messages about a database name hosts and tables.
 */
export function pipelineError(error: unknown): RagError {
  if (error instanceof ProviderError) return { code: "EXECUTION_ERROR", message: error.message };
  if (error instanceof UntoldCallerError) {
    const code = error.what === "role" ? "IDENTITY_ROLE_NOT_ALLOWED" : "IDENTITY_CLAIM_REQUIRED";
    return { code, message: error.reason };
  }
  if (!(error instanceof AppError) || error.code === "internal") return internalError;
  if (error.code === "invalid") return { code: "INVALID_REQUEST", message: error.message };
  const retryAfterSeconds = error.data?.["retryAfterSeconds"];
  if (error.code === "quota_exceeded" && typeof retryAfterSeconds === "number") {
    // other messages of this server begin with what is wrong
    const message = error.message.replace("Cannot run the call: ", "");
    return { code: "QUOTA_EXCEEDED", message, retryAfterSeconds };
  }
  if (["overloaded", "unavailable"].includes(error.code) && typeof retryAfterSeconds === "number") {
    return { ...overloadedError, retryAfterSeconds };
  }
  if (error.code === "unavailable" && !isRefusedLogin(error)) return databaseError;
  return { code: "EXECUTION_ERROR", message: error.code === "timeout" ? timeoutPhrase : internalPhrase };
}

/** Why a question is not asked. */
export class RefusedQuestion extends Error {
  constructor(readonly refusal: RagError) {
    super(refusal.message);
  }
}

/** What the client of a question that was cut off is told; nothing where it has left. */
const endErrors: Partial<Record<EndOfCall, RagError>> = {
  "it took too long": timeoutError,
  "its token or session has ended": { code: "UNAUTHORIZED", message: "the token or session has ended" },
  "the server stops": internalError,
};

/** What the client of a question is told of something thrown; undefined where it has left. */
export function ragErrorOf(thrown: unknown): RagError | undefined {
  if (thrown instanceof RefusedQuestion) return thrown.refusal;
  return thrown instanceof CallEnded ? endErrors[thrown.why] : pipelineError(thrown);
}

/** Whether the server refuses the role or does not have the database: to try again does not help. */
function isRefusedLogin({ data }: AppError): boolean {
  return /^(28|3D)/.test(String(data?.["sqlState"]));
}
