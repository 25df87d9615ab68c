import { AppError } from "../core/app_error.ts";
import { ProviderError } from "./provider_failure.ts";
import { bodyInPieces } from "../http/reply_body.ts";
import type { ErrorReply, RagErrorCode } from "./rag_reply_schemas.ts";

/** An error as a caller sees it. */
export interface Failure {
  readonly code: RagErrorCode;
  readonly message: string;
}

const statuses: Readonly<Record<RagErrorCode, number>> = {
  INVALID_REQUEST: 400,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PIPELINE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_LARGE: 413,
  EXECUTION_ERROR: 500,
  INTERNAL_ERROR: 500,
  REQUEST_TIMEOUT: 504,
};

const internalPhrase = "an internal error occurred";
const timeoutPhrase = "the request took too long";

export const internalFailure: Failure = { code: "INTERNAL_ERROR", message: internalPhrase };
export const hostFailure: Failure = {
  code: "FORBIDDEN",
  message:
    "the Host header names a host that this server is not called by; behind a proxy that passes Host on, " +
    "list the proxy's host name in server.allowed_hosts",
};
export const timeoutFailure: Failure = { code: "REQUEST_TIMEOUT", message: timeoutPhrase };

// RFC 8631: where the description of the API is
const replyHeaders = {
  "content-type": "application/json",
  link: '</v1/openapi.json>; rel="service-desc"',
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A reply whose body is JSON text. */
export function jsonReply(
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { body, length } = bodyInPieces(text);
  return new Response(body, {
    status,
    headers: { ...replyHeaders, ...headers, ...(length === undefined ? {} : { "content-length": length }) },
  });
}

export function failureReply(
  { code, message }: Failure,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body: ErrorReply = { error: { code, message } };
  return jsonReply(JSON.stringify(body), statuses[code], headers);
}

/**
 * What a caller may know of what a pipeline threw. Only a provider's phrase and a fault of the request are told as they
 * are; messages about a database name hosts and tables.
 */
export function pipelineFailure(error: unknown): Failure {
  if (error instanceof ProviderError) return { code: "EXECUTION_ERROR", message: error.message };
  if (!(error instanceof AppError) || error.code === "internal") return internalFailure;
  if (error.code === "invalid") return { code: "INVALID_REQUEST", message: error.message };
  return { code: "EXECUTION_ERROR", message: error.code === "timeout" ? timeoutPhrase : internalPhrase };
}
