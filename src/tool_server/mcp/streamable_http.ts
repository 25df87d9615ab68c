import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server";
import type { Logger } from "../../core/logger.ts";
import { principalKey } from "../../core/principal.ts";
import type { CallContext } from "../tools/tool.ts";
import type { McpOptions } from "./json_rpc.ts";
import { createSdkServer } from "./sdk_server.ts";

/** MCP's Streamable HTTP transport, in every revision that the official SDK negotiates. */
export function createStreamableHttp(options: McpOptions & { logger: Logger }) {
  // the SDK carries the object through to the factory as it is; what is in it is of no use to us
  const callers = new WeakMap<AuthInfo, CallContext>();
  const handler = createMcpHandler(({ authInfo }) => {
    const caller = authInfo && callers.get(authInfo);
    if (caller === undefined) throw new Error("the SDK did not pass on the caller that it was given");
    return createSdkServer(options, caller);
  }, {
    onerror: (error) => options.logger.debug("MCP exchange failed", { error }),
  });

  return {
    /** Serves one request whose body was read and parsed already. */
    serve(request: Request, body: unknown, caller: CallContext): Promise<Response> {
      const authInfo: AuthInfo = { token: "", clientId: principalKey(caller.principal), scopes: [] };
      callers.set(authInfo, caller);
      return handler.fetch(request, { parsedBody: body, authInfo });
    },
    /** Ends the exchanges and event streams that are open. */
    close: (): Promise<void> => handler.close(),
  };
}

export type StreamableHttp = ReturnType<typeof createStreamableHttp>;
