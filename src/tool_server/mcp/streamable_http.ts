import { type AuthInfo, createMcpHandler, type McpServerFactory } from "@modelcontextprotocol/server";
import { settlesWithin } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { principalKey } from "../../core/principal.ts";
import { answerReply } from "../http_replies.ts";
import type { CallContext } from "../call_context.ts";
import { callMethods } from "./answer_call.ts";
import { createChangeStreams, type ListenRequest } from "./change_streams.ts";
import { errorObject, errorReply, type JsonRpcReply, neededScopes, retryAfterSeconds } from "./json_rpc.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

/** An event stream's status is sent before the call ends, so it waits this long for a refusal, which is decided at once. */
const refusalWaitMs = 50;

/** One request, and the reply of its call where that failed. */
interface Exchange {
  readonly caller: CallContext;
  readonly called: PromiseWithResolvers<JsonRpcReply | undefined>;
}

/**
 * MCP's Streamable HTTP transport, in every revision that the official SDK negotiates.
 * @param createServer makes the object that answers one request
 */
export function createStreamableHttp(
  options: McpOptions & { readonly logger: Logger; readonly tasks?: Tasks },
  createServer: typeof createSdkServer = createSdkServer,
) {
  const { changes, calls, logger } = options;
  // the SDK carries the object through to the factory as it is; what is in it is of no use to us
  const exchanges = new WeakMap<AuthInfo, Exchange>();
  const serverOf: McpServerFactory = (served) => {
    const exchange = served.authInfo && exchanges.get(served.authInfo);
    if (exchange === undefined) throw new Error("the SDK did not pass on the caller that it was given");
    const isOfNow = served["era"] === "modern";
    return createServer(options, exchange.caller, {
      onCalled: exchange.called.resolve,
      // before 2026-07-28 it would need a session
      tells: changes !== undefined && isOfNow ? "in a stream" : undefined,
      tasks: isOfNow ? options.tasks : undefined,
    });
  };
  const handler = createMcpHandler(serverOf, {
    onerror: (error) => logger.debug("MCP exchange failed", { error }),
  });
  const streams = changes && createChangeStreams({ changes, calls, serverOf, logger });

  return {
    /**
     * Serves one request whose body was read and parsed already.
     * @param isStillAdmitted whether its caller would be let in now: asked as long as an event stream tells of changes
     */
    async serve(
      request: Request,
      body: unknown,
      caller: CallContext,
      isStillAdmitted: () => Promise<boolean> = () => Promise.resolve(true),
    ): Promise<Response> {
      const authInfo: AuthInfo = { token: "", clientId: principalKey(caller.principal), scopes: [] };
      const called = Promise.withResolvers<JsonRpcReply | undefined>();
      exchanges.set(authInfo, { caller, called });
      if (streams !== undefined && asksToListen(body)) {
        try {
          return await streams.listen({ request, message: body, authInfo, caller, isStillAdmitted });
        } catch (error) {
          return answerReply(errorReply(body.id, errorObject(error)));
        }
      }
      const response = await handler.fetch(request, { parsedBody: body, authInfo });
      if (!isCall(body) || !await settlesWithin(refusalWaitMs, called.promise)) return response;
      const reply = await called.promise;
      const hasOwnStatus = reply !== undefined &&
        (retryAfterSeconds(reply) !== undefined || neededScopes(reply) !== undefined);
      if (!hasOwnStatus) return response;
      await response.body?.cancel();
      return answerReply(reply);
    },
    /** Ends the exchanges and event streams that are open. */
    async close(): Promise<void> {
      await Promise.all([handler.close(), streams?.close()]);
    },
  };
}

export type StreamableHttp = ReturnType<typeof createStreamableHttp>;

function isCall(message: unknown): boolean {
  return typeof message === "object" && message !== null && "method" in message &&
    callMethods.some((method) => method === message.method);
}

function asksToListen(message: unknown): message is ListenRequest["message"] {
  return typeof message === "object" && message !== null && "method" in message &&
    message.method === "subscriptions/listen" && "id" in message &&
    (typeof message.id === "string" || typeof message.id === "number");
}
