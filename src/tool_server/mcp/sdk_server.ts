import {
  type CallToolResult,
  type ListToolsResult,
  ProtocolError,
  Server,
} from "@modelcontextprotocol/server";
import { type CallContext, withSignal } from "../tools/tool.ts";
import { errorObject, errorReply, instructionsFor, type JsonRpcReply, type McpOptions } from "./json_rpc.ts";

/**
 * One MCP server object of the official SDK, serving the registry to one caller, whose signal aborts once they are gone.
 * `onCalled` is told when a call of a tool has ended, and of its error, before the reply is made.
 */
export function createSdkServer(
  { registry, inFlight, serverInfo }: McpOptions,
  caller: CallContext,
  onCalled: (reply?: JsonRpcReply) => void = () => {},
): Server {
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
      const result = await inFlight.track(
        caller.principal,
        mcpReq.id,
        // the SDK's own signal does not see every disconnect
        AbortSignal.any([mcpReq.signal, caller.signal]),
        (signal) => registry.callTool(params.name, params.arguments ?? {}, withSignal(caller, signal)),
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
