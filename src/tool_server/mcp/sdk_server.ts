import {
  type CallToolResult,
  type ListToolsResult,
  ProtocolError,
  Server,
} from "@modelcontextprotocol/server";
import type { CallContext } from "../tools/tool.ts";
import { callTool } from "./call_tool.ts";
import { errorObject, errorReply, instructionsFor, type JsonRpcReply, type McpOptions } from "./json_rpc.ts";

/**
 * One MCP server object of the official SDK, serving the registry to one caller, whose signal aborts once they are gone.
 * `onCalled` is told when a call of a tool has ended, and of its error, before the reply is made.
 */
export function createSdkServer(
  options: McpOptions,
  caller: CallContext,
  onCalled: (reply?: JsonRpcReply) => void = () => {},
): Server {
  const { registry, serverInfo } = options;
  const server = new Server({ ...serverInfo }, {
    capabilities: { tools: {} },
    instructions: instructionsFor(registry.listTools(caller.principal)),
    cacheHints: { "tools/list": listCacheHint },
  });
  server.setRequestHandler(
    "tools/list",
    () => wire<ListToolsResult>({ tools: registry.listTools(caller.principal) }),
  );
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    try {
      const { name, arguments: args = {} } = params;
      // the SDK's own signal does not see every disconnect
      const signal = AbortSignal.any([mcpReq.signal, caller.signal]);
      const result = await callTool(
        options,
        { id: mcpReq.id, name, args, meta: mcpReq._meta, signal },
        caller,
      );
      onCalled();
      return wire<CallToolResult>(result);
    } catch (thrown) {
      const error = errorObject(thrown);
      onCalled(errorReply(mcpReq.id, error));
      throw new ProtocolError(error.code, error.message, error.data);
    }
  });
  return server;
}

/** The list is the same for as long as the server runs; a client that outlives a restart asks anew after this time. */
const listCacheHint = { ttlMs: 5 * 60_000, cacheScope: "private" } as const;

// the registry's types are deeply readonly, the SDK's are not
function wire<T>(value: unknown): T {
  return value as T;
}
