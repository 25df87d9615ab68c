import type { Authenticator } from "../identity/authenticator.ts";
import type { ClientAddress } from "../http/client_address.ts";
import { addressGroup } from "../identity/rate_limiter.ts";
import type { Login } from "../identity/login.ts";
import type { Logger } from "../core/logger.ts";
import type { Principal } from "../core/principal.ts";
import type { CallContext } from "../core/tool.ts";
import type { InFlight } from "./mcp/in_flight.ts";
import type { JsonRpc } from "./mcp/json_rpc.ts";
import { findBatchFault } from "./mcp/batch_bounds.ts";
import { invalidRequest, type JsonRpcError, parseError } from "./mcp/json_rpc_error.ts";
import { errorReply, type JsonRpcReply, replyText } from "./mcp/json_rpc_reply.ts";
import { type StreamableHttp, wantsStreamableHttp } from "./mcp/streamable_http.ts";
import type { SharedDeadline } from "../core/async/deadline.ts";
import { answerLogin, readLoginCall } from "./login_call.ts";
import { findExcess } from "../http/request_body.ts";
import { readBody } from "../http/request_body.ts";

/** How callers are told apart. */
export interface Authentication {
  readonly authenticator: Authenticator;
  /** Absent where only API tokens let a caller in. */
  readonly login?: Login;
  /** Told of a request that was refused for its token. */
  readonly onRefusal?: (address: string) => void;
}

export interface McpEndpointOptions {
  /** Absent where authentication is off: then every caller is the local principal. */
  readonly authentication?: Authentication;
  readonly clientAddress: ClientAddress;
  readonly jsonRpc: JsonRpc;
  readonly streamableHttp: StreamableHttp;
  readonly inFlight: InFlight;
  /** How long a body may take to arrive. */
  readonly bodyTimeout: SharedDeadline;
  readonly logger: Logger;
}

const maxBytes = 4 * 1024 * 1024;
// who has not shown a token yet sends a login and nothing longer
const maxLoginBytes = 64 * 1024;

/** `POST /mcp/v1`: bare JSON-RPC and MCP's Streamable HTTP on one path. `peer` is the address of the network peer. */
export function createMcpEndpoint(
  options: McpEndpointOptions,
): (request: Request, peer: string) => Promise<Response> {
  const { authentication, clientAddress, jsonRpc, streamableHttp, inFlight, bodyTimeout } = options;
  let lastRequest = 0;

  function principalOf(request: Request, addressOf: () => string): Principal | undefined {
    if (authentication === undefined) {
      return {
        kind: "local",
        get address() {
          return addressGroup(addressOf());
        },
      };
    }
    return authentication.authenticator.authenticate(request.headers.get("authorization"));
  }

  async function logIn(
    request: Request,
    message: unknown,
    addressOf: () => string,
  ): Promise<Response | undefined> {
    const call = authentication?.login && readLoginCall(message);
    if (call === undefined || authentication?.login === undefined) return undefined;
    const { signal } = request;
    const { status, body, retryAfter } = await answerLogin(call, {
      login: authentication.login,
      address: addressOf(),
      signal,
    });
    return json(status, body, retryAfter === undefined ? {} : { "retry-after": String(retryAfter) });
  }

  async function refuseOrLogIn(request: Request, address: string): Promise<Response> {
    if (authentication?.login !== undefined && isJson(request.headers.get("content-type"))) {
      const body = await readBody(request, { maxBytes: maxLoginBytes, timeout: bodyTimeout });
      const message = body.kind === "text" ? parseJson(body.text) : undefined;
      const answer = message?.kind === "json"
        ? await logIn(request, message.value, () => address)
        : undefined;
      if (answer !== undefined) return answer;
    }
    authentication?.onRefusal?.(address);
    return unauthorized();
  }

  return async (request, peer) => {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const addressOf = () => clientAddress(peer, request.headers);
    const principal = principalOf(request, addressOf);
    if (principal === undefined) return await refuseOrLogIn(request, addressOf());
    if (!isJson(request.headers.get("content-type"))) {
      return refusal(415, "Invalid Request: Content-Type must be application/json");
    }
    const body = await readBody(request, { maxBytes, timeout: bodyTimeout });
    if (body.kind === "too_large") return refusal(413, "Invalid Request: the body is larger than 4 MiB");
    if (body.kind === "broken") return refusal(408, "Invalid Request: the body did not arrive");
    if (body.kind === "not_utf8") return json(400, errorReply(null, parseError));
    const message = parseJson(body.text);
    if (message.kind === "fault") return json(400, errorReply(null, message.error));
    const fault = findBatchFault(message.value, body.text.length);
    if (fault !== undefined) return refusal(400, `Invalid Request: ${fault}`);
    const loggedIn = await logIn(request, message.value, addressOf);
    if (loggedIn !== undefined) return loggedIn;

    const logger = options.logger.with({ request: ++lastRequest });
    const caller: CallContext = {
      principal,
      logger,
      // both cost more than some answers, and most requests need neither
      get address() {
        return addressOf();
      },
      get signal() {
        return request.signal;
      },
    };
    if (isCancellation(message.value)) {
      // answered here for both kinds of client: a server object of the SDK lives for one request and knows no other
      inFlight.cancel(principal, message.value.params?.requestId);
      return new Response(null, { status: 202 });
    }
    if (wantsStreamableHttp(request.headers)) {
      return await streamableHttp.serve(request, message.value, caller);
    }
    const reply = await jsonRpc.answer(message.value, caller);
    return reply === undefined ? new Response(null, { status: 202 }) : json(statusOf(reply), reply);
  };
}

// RFC 6750, section 3. One body for a missing, a wrong and an expired token: none of them may be told apart.
function unauthorized(): Response {
  return new Response('{"error": "Unauthorized"}', {
    status: 401,
    headers: { "content-type": "application/json", "www-authenticate": "Bearer" },
  });
}

function refusal(status: number, message: string): Response {
  return json(status, errorReply(null, { code: invalidRequest, message }));
}

function json(
  status: number,
  reply: JsonRpcReply | readonly JsonRpcReply[],
  headers: Record<string, string> = {},
): Response {
  return new Response(replyText(reply), {
    status,
    headers: { ...replyHeaders, ...headers },
  });
}

const replyHeaders = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

function statusOf(reply: JsonRpcReply | JsonRpcReply[]): number {
  return !Array.isArray(reply) && "error" in reply && reply.error.code === invalidRequest ? 400 : 200;
}

function isJson(contentType: string | null): boolean {
  return contentType?.split(";")[0]?.trim().toLowerCase() === "application/json";
}

type Message =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "fault"; readonly error: JsonRpcError };

const notJson: Message = { kind: "fault", error: parseError };

function parseJson(text: string): Message {
  const excess = findExcess(text);
  if (excess !== undefined) {
    return {
      kind: "fault",
      error: { ...parseError, message: `Parse error: the body is too complex: ${excess}` },
    };
  }
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return notJson;
  }
}

function isCancellation(message: unknown): message is { params?: { requestId?: unknown } } {
  return typeof message === "object" && message !== null && "method" in message &&
    message.method === "notifications/cancelled" && !("id" in message);
}
