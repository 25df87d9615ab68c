import { z } from "@hono/zod-openapi";
import { AppError } from "../../core/app_error.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { databaseUnreachable } from "../pipeline.ts";
import { jsonReply } from "./json_reply.ts";

/** The HTTP status of each code. */
const statuses = {
  INVALID_REQUEST: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PIPELINE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_LARGE: 413,
  /** A provider or the database failed. */
  EXECUTION_ERROR: 500,
  /** The server itself failed. */
  INTERNAL_ERROR: 500,
  /** For want of room, or of connections to the database. */
  OVERLOADED: 503,
  /** The database cannot be reached, as while it restarts. */
  UNAVAILABLE: 503,
  REQUEST_TIMEOUT: 504,
} as const;

/** An error as a client sees it. */
export interface RagError {
  readonly code: keyof typeof statuses;
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

/** The reply of an error. */
export function errorReply(
  { code, message, retryAfterSeconds }: RagError,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return jsonReply(JSON.stringify({ error: { code, message } }), statuses[code], {
    ...headers,
    ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
  });
}

/** What {@linkcode errorReply} sends, for the description of the API. */
export const errorSchema = z.object({
  error: z.object({
    code: z.string().openapi({ enum: Object.keys(statuses) }),
    message: z.string(),
  }),
}).openapi("ErrorResponse");

/**
 * What a client may know of what a pipeline threw. Only a provider's phrase and a fault of the request are told as they
 * are; messages about a database name hosts and tables.
 */
export function pipelineError(error: unknown): RagError {
  if (error instanceof ProviderError) return { code: "EXECUTION_ERROR", message: error.message };
  if (!(error instanceof AppError) || error.code === "internal") return internalError;
  if (error.code === "invalid") return { code: "INVALID_REQUEST", message: error.message };
  const retryAfterSeconds = error.data?.["retryAfterSeconds"];
  if (["overloaded", "unavailable"].includes(error.code) && typeof retryAfterSeconds === "number") {
    return { ...overloadedError, retryAfterSeconds };
  }
  if (error.code === "unavailable" && !isRefusedLogin(error)) return databaseError;
  return { code: "EXECUTION_ERROR", message: error.code === "timeout" ? timeoutPhrase : internalPhrase };
}

/** Whether the server refuses the role or does not have the database: to try again does not help. */
function isRefusedLogin({ data }: AppError): boolean {
  return /^(28|3D)/.test(String(data?.["sqlState"]));
}
