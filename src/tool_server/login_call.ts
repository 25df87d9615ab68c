import { z } from "zod";
import type { Login, LoginOutcome } from "../identity/login.ts";
import { formatTimestamp } from "../identity/credentials/timestamp.ts";
import type { RequestId } from "./mcp/in_flight.ts";
import { errorReply, type JsonRpcReply } from "./mcp/json_rpc_reply.ts";

/**
 * `tools/call` of `authenticate_user`: the one request that needs no token. It is answered before the tools, which know
 * neither HTTP statuses nor client addresses.
 */
const loginCall = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]),
  method: z.literal("tools/call"),
  params: z.object({ name: z.literal("authenticate_user"), arguments: z.unknown() }),
});

/** It may name keys of the client's own. */
const maxFaultsLength = 500;

const credentials = z.strictObject({ username: z.string(), password: z.string() });

export interface LoginReply {
  readonly status: number;
  readonly body: JsonRpcReply;
  /** Seconds. */
  readonly retryAfter?: number;
}

export interface LoginCall {
  readonly id: RequestId;
  readonly args: unknown;
}

/** The login that a message asks for; undefined for any other message. */
export function readLoginCall(message: unknown): LoginCall | undefined {
  if (!namesLogin(message)) return undefined;
  const { data } = loginCall.safeParse(message);
  return data === undefined ? undefined : { id: data.id, args: data.params.arguments };
}

// almost no message is one, and checking a schema costs more than answering some of them
function namesLogin(message: unknown): boolean {
  if (typeof message !== "object" || message === null || !("params" in message)) return false;
  const { params } = message;
  return typeof params === "object" && params !== null && "name" in params &&
    params.name === "authenticate_user";
}

/** @throws the signal's reason where the client leaves while its login waits */
export async function answerLogin(
  { id, args }: LoginCall,
  options: { login: Login; address: string; signal: AbortSignal },
): Promise<LoginReply> {
  const { success, data, error } = credentials.safeParse(args);
  if (!success) {
    const faults = error.issues.map((issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`)
      .join("; ").slice(0, maxFaultsLength);
    return { status: 200, body: errorReply(id, { code: -32602, message: `Cannot log in: ${faults}` }) };
  }
  const { login, address, signal } = options;
  return replyTo(id, await login.authenticate({ ...data, address, signal }));
}

function replyTo(id: RequestId, outcome: LoginOutcome): LoginReply {
  switch (outcome.kind) {
    case "success":
      return { status: 200, body: successReply(id, outcome) };
    case "failed":
      return { status: 200, body: errorReply(id, { code: -32001, message: "Authentication failed" }) };
    case "rate_limited":
      return {
        status: 429,
        body: errorReply(id, { code: -32002, message: "Too many failed logins; try again later" }),
        retryAfter: outcome.retryAfterSeconds,
      };
    case "busy":
      return {
        status: 503,
        body: errorReply(id, { code: -32005, message: "Too many logins are waiting; try again later" }),
        retryAfter: outcome.retryAfterSeconds,
      };
  }
}

function successReply(id: RequestId, outcome: Extract<LoginOutcome, { kind: "success" }>): JsonRpcReply {
  const text = JSON.stringify({
    success: true,
    session_token: outcome.sessionToken,
    expires_at: formatTimestamp(outcome.expiresAt),
    message: "Authentication successful",
  });
  return { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } };
}
