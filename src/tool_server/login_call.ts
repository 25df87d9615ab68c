import { z } from "zod";
import type { RequestId } from "../calls/calls_under_way.ts";
import { valueAt } from "../core/yaml/value_tree.ts";
import { formatTimestamp } from "../identity/credentials/timestamp.ts";
import type { Login } from "../identity/login.ts";
import { jsonRpcReply } from "./http_replies.ts";
import { errorNumbers, errorReply } from "./mcp/json_rpc_error.ts";

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
const credentials = z.strictObject({ username: z.string(), password: z.string() });
/** A fault may name keys of the client's own. */
const maxFaultsLength = 500;

/**
 * Logs in whoever a message of that kind asks for; undefined for any other message.
 * @throws the signal's reason where the client leaves while its login waits
 */
export function answerLogin(
  message: unknown,
  login: Login,
  addressOf: () => string,
  request: Request,
  requestId: string,
): Promise<Response> | undefined {
  const call = namesLogin(message) ? loginCall.safeParse(message).data : undefined;
  return call && logIn(call, login, { address: addressOf(), signal: request.signal, requestId });
}

async function logIn(
  call: z.output<typeof loginCall>,
  login: Login,
  caller: { readonly address: string; readonly signal: AbortSignal; readonly requestId: string },
): Promise<Response> {
  const { id } = call;
  const { data, error } = credentials.safeParse(call.params.arguments);
  if (error !== undefined) {
    const faults = error.issues.map((issue) => `${issue.path.join(".") || "arguments"}: ${issue.message}`)
      .join("; ").slice(0, maxFaultsLength);
    return jsonRpcReply(
      200,
      errorReply(id, { code: errorNumbers.invalid, message: `Cannot log in: ${faults}` }),
    );
  }
  return loginReply(id, await login.authenticate({ ...data, ...caller }));
}

// almost no message is one, and checking a schema costs more than answering some of them
function namesLogin(message: unknown): boolean {
  return valueAt(message, ["params", "name"]) === "authenticate_user";
}

function loginReply(id: RequestId, result: Awaited<ReturnType<Login["authenticate"]>>): Response {
  switch (result.kind) {
    case "success": {
      const text = JSON.stringify({
        success: true,
        session_token: result.sessionToken,
        expires_at: formatTimestamp(result.expiresAt),
        message: "Authentication successful",
      });
      return jsonRpcReply(200, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
    }
    case "failed":
      return jsonRpcReply(
        200,
        errorReply(id, { code: errorNumbers.unauthorized, message: "Authentication failed" }),
      );
    default: {
      const [status, code, message] = laterReplies[result.kind];
      const error = { code: errorNumbers[code], message: `${message}; try again later` };
      return jsonRpcReply(status, errorReply(id, error), { "retry-after": String(result.retryAfterSeconds) });
    }
  }
}

const laterReplies = {
  rate_limited: [429, "rate_limited", "Too many failed logins"],
  busy: [503, "overloaded", "Too many logins are waiting"],
  unavailable: [503, "overloaded", "Nobody can log in at the moment"],
} as const;
