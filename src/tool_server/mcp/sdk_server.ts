import {
  type CallToolResult,
  type GetPromptResult,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListToolsResult,
  ProtocolError,
  type ReadResourceResult,
  Server,
} from "@modelcontextprotocol/server";
import type { CallContext } from "../call_context.ts";
import { callTool } from "./call_tool.ts";
import {
  capabilities,
  errorObject,
  errorReply,
  instructionsFor,
  type JsonRpcReply,
  type McpOptions,
} from "./json_rpc.ts";

/**
 * One MCP server object of the official SDK, serving the registry to one caller, whose signal aborts once they are gone.
 * `onCalled` is told when a call of a tool has ended, and of its error, before the reply is made.
 */
export function createSdkServer(
  options: McpOptions,
  caller: CallContext,
  onCalled: (reply?: JsonRpcReply) => void = () => {},
): Server {
  const { registry, resources, prompts, serverInfo } = options;
  const { principal } = caller;
  const server = new Server({ ...serverInfo }, {
    capabilities,
    instructions: instructionsFor(registry.listTools(principal)),
    cacheHints: { "tools/list": listCacheHint },
  });
  server.setRequestHandler(
    "tools/list",
    () => wire<ListToolsResult>({ tools: registry.listTools(principal) }),
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
  server.setRequestHandler(
    "resources/list",
    () => wire<ListResourcesResult>({ resources: resources.list(principal) }),
  );
  server.setRequestHandler(
    "resources/templates/list",
    () => wire<ListResourceTemplatesResult>({ resourceTemplates: resources.templates(principal) }),
  );
  server.setRequestHandler("resources/read", async ({ params }) => {
    const { contents, freshness } = await answered(() => resources.read(params.uri, caller));
    return wire<ReadResourceResult>({ contents, ...freshness });
  });
  server.setRequestHandler(
    "prompts/list",
    () => wire<ListPromptsResult>({ prompts: prompts.list(principal) }),
  );
  server.setRequestHandler(
    "prompts/get",
    async ({ params }) =>
      wire<GetPromptResult>(await answered(() => prompts.get(params.name, params.arguments ?? {}, caller))),
  );
  return server;
}

async function answered<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (thrown) {
    const { code, message, data } = errorObject(thrown);
    throw new ProtocolError(code, message, data);
  }
}

/** The list is the same for as long as the server runs; a client that outlives a restart asks anew after this time. */
const listCacheHint = { ttlMs: 5 * 60_000, cacheScope: "private" } as const;

// the registry's types are deeply readonly, the SDK's are not
function wire<T>(value: unknown): T {
  return value as T;
}
