import {
  type CallToolResult,
  type ListToolsResult,
  ProtocolError,
  Server,
} from "@modelcontextprotocol/server";
import type { CallContext } from "../../core/tool.ts";
import type { Registry } from "../tools/registry.ts";
import type { InFlight } from "./in_flight.ts";
import { errorObject } from "./json_rpc_error.ts";
import { instructionsFor, type ServerInfo } from "./server_info.ts";

export interface SdkServerOptions {
  readonly registry: Registry;
  readonly inFlight: InFlight;
  readonly serverInfo: ServerInfo;
}

/** One MCP server object of the official SDK, serving the registry to one caller, whose signal aborts once they are gone. */
export function createSdkServer(
  { registry, inFlight, serverInfo }: SdkServerOptions,
  caller: CallContext,
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
        (signal) => registry.callTool(params.name, params.arguments ?? {}, { ...caller, signal }),
      );
      return wire<CallToolResult>(result);
    } catch (error) {
      const { code, message, data } = errorObject(error);
      throw new ProtocolError(code, message, data);
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
