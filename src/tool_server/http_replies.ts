import { Buffer } from "node:buffer";
import { bearerChallenge } from "../identity/authentication.ts";
import { replyText, type Revision } from "./mcp/json_rpc.ts";
import {
  errorReply,
  invalidRequest,
  isOverQuota,
  type JsonRpcReply,
  methodNotFound,
  missingCapability,
  neededScopes,
  retryAfterSeconds,
} from "./mcp/json_rpc_error.ts";

/** The statuses of replies that are no answer; others are the routes' own. */
export type ErrorStatus = 400 | 403 | 404 | 406 | 408 | 413 | 415 | 429 | 503;

const unauthorizedBody = '{"error": "Unauthorized"}';

/** RFC 6750, section 3. One body for a missing, a wrong and an expired token: none of them may be told apart. */
export function unauthorized(): Response {
  return new Response(unauthorizedBody, {
    status: 401,
    headers: {
      "content-type": "application/json",
      "content-length": String(unauthorizedBody.length),
      "www-authenticate": bearerChallenge(),
    },
  });
}

/** Where a token is good for something, but not for this request. */
export function insufficientScope(
  { scopes, missing }: { readonly scopes: readonly string[]; readonly missing: string },
): Response {
  return Response.json({ error: "Forbidden", message: missing }, {
    status: 403,
    headers: { "www-authenticate": bearerChallenge(scopes) },
  });
}

/** Where it cannot be told now who is calling. */
export function identityUnavailable(
  { message, retryAfterSeconds }: { readonly message: string; readonly retryAfterSeconds: number },
): Response {
  return Response.json({ error: "Service Unavailable", message }, {
    status: 503,
    headers: { "retry-after": String(retryAfterSeconds) },
  });
}

/** A refusal of a message as a whole. */
export function refusal(status: 200 | ErrorStatus, reason: string): Response {
  const error = { code: invalidRequest, message: `Invalid Request: ${reason}` };
  return jsonRpcReply(status, errorReply(null, error));
}

/** A reply of JSON-RPC. */
export function jsonRpcReply(
  status: 200 | ErrorStatus,
  reply: JsonRpcReply | readonly JsonRpcReply[],
  headers: Record<string, string> = {},
): Response {
  const text = replyText(reply);
  const response = new Response(text, { status, headers: { "content-type": "application/json" } });
  // made with all of them, it would have a second form outside of the heap, to be watched until the garbage is collected
  response.headers.append("content-length", String(Buffer.byteLength(text)));
  response.headers.append("cache-control", "no-store");
  response.headers.append("x-content-type-options", "nosniff");
  for (const name in headers) response.headers.append(name, headers[name] ?? "");
  return response;
}

/**
 * The reply to a message: 400 where it is no request or lacks what its client can do, 403 where the caller's token lacks a
 * scope (MCP, Authorization, Scope Challenge Handling), 404 where its revision has no such method, 429 where its caller had
 * used up a limit (RFC 6585, section 4), 503 where there was room for none of its calls.
 */
export function answerReply(reply: JsonRpcReply | JsonRpcReply[], revision: Revision = "older"): Response {
  const scopes = Array.isArray(reply) ? undefined : neededScopes(reply);
  if (scopes !== undefined) return jsonRpcReply(403, reply, { "www-authenticate": bearerChallenge(scopes) });
  const waits = Array.isArray(reply) ? reply.map(retryAfterSeconds) : [retryAfterSeconds(reply)];
  if (waits.every((wait) => wait !== undefined)) {
    const isQuota = Array.isArray(reply) ? reply.every(isOverQuota) : isOverQuota(reply);
    return jsonRpcReply(isQuota ? 429 : 503, reply, { "retry-after": String(Math.max(...waits)) });
  }
  const code = !Array.isArray(reply) && "error" in reply ? reply.error.code : undefined;
  if (revision === "now" && code === methodNotFound) return jsonRpcReply(404, reply);
  return jsonRpcReply(code === invalidRequest || code === missingCapability ? 400 : 200, reply);
}
