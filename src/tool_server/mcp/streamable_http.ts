import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server";
import { settlesWithin } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { principalKey } from "../../core/principal.ts";
import { answerReply } from "../http_replies.ts";
import type { CallContext } from "../call_context.ts";
import { type JsonRpcReply, neededScopes, retryAfterSeconds } from "./json_rpc.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

/** An event stream's status is sent before the call ends, so it waits this long for a refusal, which is decided at once. */
const refusalWaitMs = 50;

/** One request, and the reply of its call of a tool where that failed. */
interface Exchange {
  readonly caller: CallContext;
  readonly called: PromiseWithResolvers<JsonRpcReply | undefined>;
}

/** MCP's Streamable HTTP transport, in every revision that the official SDK negotiates. */
export function createStreamableHttp(
  options: McpOptions & { readonly logger: Logger; readonly tasks?: Tasks },
) {
  // the SDK carries the object through to the factory as it is; what is in it is of no use to us
  const exchanges = new WeakMap<AuthInfo, Exchange>();
  const handler = createMcpHandler((served) => {
    const { authInfo } = served;
    const exchange = authInfo && exchanges.get(authInfo);
    if (exchange === undefined) throw new Error("the SDK did not pass on the caller that it was given");
    return createSdkServer(
      options,
      exchange.caller,
      exchange.called.resolve,
      served["era"] === "modern" ? options.tasks : undefined,
    );
  }, {
    onerror: (error) => options.logger.debug("MCP exchange failed", { error }),
  });

  return {
    /** Serves one request whose body was read and parsed already. */
    async serve(request: Request, body: unknown, caller: CallContext): Promise<Response> {
      const authInfo: AuthInfo = { token: "", clientId: principalKey(caller.principal), scopes: [] };
      const called = Promise.withResolvers<JsonRpcReply | undefined>();
      exchanges.set(authInfo, { caller, called });
      const response = await handler.fetch(request, { parsedBody: body, authInfo });
      if (!isToolCall(body) || !await settlesWithin(refusalWaitMs, called.promise)) return response;
      const reply = await called.promise;
      const hasOwnStatus = reply !== undefined &&
        (retryAfterSeconds(reply) !== undefined || neededScopes(reply) !== undefined);
      if (!hasOwnStatus) return response;
      await response.body?.cancel();
      return answerReply(reply);
    },
    /** Ends the exchanges and event streams that are open. */
    close: (): Promise<void> => handler.close(),
  };
}

export type StreamableHttp = ReturnType<typeof createStreamableHttp>;

function isToolCall(message: unknown): boolean {
  return typeof message === "object" && message !== null && "method" in message &&
    message.method === "tools/call";
}
