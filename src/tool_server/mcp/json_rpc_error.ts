import { ProtocolError } from "@modelcontextprotocol/server";
import { defined } from "../../core/defined.ts";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { AppError, type ErrorCode } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { valueAt } from "../../core/yaml/value_tree.ts";

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type JsonRpcReply =
  & { readonly jsonrpc: "2.0"; readonly id: RequestId }
  & ({ readonly result: unknown } | { readonly error: JsonRpcError });

/**
 * What is wrong with a message rather than with a call (JSON-RPC 2.0, section 5.1; MCP 2026-07-28, Streamable HTTP). The SDK
 * alone answers with -32022.
 */
export type MessageErrorNumber = -32700 | -32600 | -32601 | -32000 | -32020 | -32021 | -32022;

export const parseError: JsonRpcError & { readonly code: MessageErrorNumber } = {
  code: -32700,
  message: "Parse error: the body is not JSON in UTF-8",
};
export const invalidRequest: MessageErrorNumber = -32600;
export const methodNotFound: MessageErrorNumber = -32601;
/** An HTTP request that MCP's transport before 2026-07-28 does not take. */
export const transportFault: MessageErrorNumber = -32000;
/** A header says something else than the body. */
export const headerMismatch: MessageErrorNumber = -32020;
/** The request does not say that its client can do what the method needs. */
export const missingCapability: MessageErrorNumber = -32021;

/** Those of section 5.1 where one fits, else Postern's own. */
export const errorNumbers = {
  invalid: -32602,
  not_found: -32602,
  unauthorized: -32001,
  rate_limited: -32002,
  quota_exceeded: -32003,
  overloaded: -32004,
  unavailable: -32005,
  upstream: -32006,
  timeout: -32007,
  conflict: -32008,
  forbidden: -32009,
  internal: -32603,
} as const satisfies Readonly<Record<ErrorCode, number>>;

/** The error object of something thrown; what is neither an AppError nor the SDK's own becomes a fixed text. */
export function errorObject(error: unknown): JsonRpcError {
  if (error instanceof ProtocolError) {
    return { code: error.code, message: error.message, ...defined({ data: error.data }) };
  }
  if (!(error instanceof AppError)) return { code: errorNumbers.internal, message: "Internal error" };
  return { code: errorNumbers[error.code], message: error.message, ...defined({ data: error.data }) };
}

/** The same for the answer to a method: what nobody foresaw is told in the log. */
export function answerError(error: unknown, method: string, logger: Logger): JsonRpcError {
  const fault = errorObject(error);
  if (fault.code === errorNumbers.internal && !(error instanceof AppError)) {
    logger.error(`Method ${method} failed`, { error });
  }
  return fault;
}

/** Whether a reply says that the caller has used up a limit. */
export function isOverQuota(reply: JsonRpcReply): boolean {
  return "error" in reply && reply.error.code === errorNumbers.quota_exceeded;
}

/** Where a reply says that there was no room for the call, or none left for its caller: after how long it may be tried again. */
export function retryAfterSeconds(reply: JsonRpcReply): number | undefined {
  if (!("error" in reply)) return undefined;
  if (reply.error.code !== errorNumbers.overloaded && !isOverQuota(reply)) return undefined;
  const seconds = valueAt(reply.error.data, ["retryAfterSeconds"]);
  return typeof seconds === "number" ? seconds : 1;
}

/** Where a reply says that the caller's token lacks a scope: those that the call needs. */
export function neededScopes(reply: JsonRpcReply): readonly string[] | undefined {
  if (!("error" in reply) || reply.error.code !== errorNumbers.forbidden) return undefined;
  const scopes = valueAt(reply.error.data, ["scopes"]);
  return Array.isArray(scopes) ? scopes.map(String) : undefined;
}

export function errorReply(id: RequestId, error: JsonRpcError): JsonRpcReply {
  return { jsonrpc: "2.0", id, error };
}
