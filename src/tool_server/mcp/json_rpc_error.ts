import { AppError, type ErrorCode } from "../../core/app_error.ts";

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** JSON-RPC's own numbers (JSON-RPC 2.0, section 5.1) for what is wrong with a message rather than with a call. */
export const parseError: JsonRpcError = {
  code: -32700,
  message: "Parse error: the body is not JSON in UTF-8",
};
export const invalidRequest = -32600;

const numbers: Readonly<Record<ErrorCode, number>> = {
  invalid: -32602,
  not_found: -32602,
  unauthorized: -32001,
  rate_limited: -32002,
  forbidden: -32003,
  conflict: -32004,
  unavailable: -32005,
  upstream: -32006,
  timeout: -32007,
  internal: -32603,
};

/** The error object of something thrown; what is no AppError becomes a fixed text. */
export function errorObject(error: unknown): JsonRpcError {
  if (!(error instanceof AppError)) return { code: numbers.internal, message: "Internal error" };
  return {
    code: numbers[error.code],
    message: error.message,
    ...(error.data === undefined ? {} : { data: error.data }),
  };
}
