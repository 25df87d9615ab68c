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
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type CallContext, withSignal } from "../call_context.ts";
import { callClient } from "./call_client.ts";
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
  const { registry, resources, prompts, inFlight, serverInfo } = options;
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
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { mcpReq } = context;
    let isOver = false;
    try {
      const { name, arguments: args = {} } = params;
      // the SDK's own signal does not see every disconnect
      const signal = AbortSignal.any([mcpReq.signal, caller.signal]);
      const client = callClient(server, context, () => isOver);
      const result = await callTool(
        options,
        { id: mcpReq.id, name, args, meta: mcpReq._meta, signal, client },
        caller,
      );
      onCalled();
      return wire<CallToolResult>(result);
    } catch (thrown) {
      const error = errorObject(thrown);
      onCalled(errorReply(mcpReq.id, error));
      throw new ProtocolError(error.code, error.message, error.data);
    } finally {
      isOver = true;
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
  server.setRequestHandler("resources/read", async ({ params }, context) => {
    const { contents, freshness } = await answered(context, (call) => resources.read(params.uri, call));
    return wire<ReadResourceResult>({ contents, ...freshness });
  });
  server.setRequestHandler(
    "prompts/list",
    () => wire<ListPromptsResult>({ prompts: prompts.list(principal) }),
  );
  server.setRequestHandler(
    "prompts/get",
    async ({ params }, context) =>
      wire<GetPromptResult>(
        await answered(context, (call) => prompts.get(params.name, params.arguments ?? {}, call)),
      ),
  );

  async function answered<T>(context: ServerContext, answer: (call: CallContext) => Promise<T>): Promise<T> {
    let isOver = false;
    try {
      const { id, signal } = context.mcpReq;
      const client = callClient(server, context, () => isOver);
      return await inFlight.track(
        principal,
        id,
        AbortSignal.any([signal, caller.signal]),
        (signal) => answer(withSignal(caller, signal, caller.span, client)),
      );
    } catch (thrown) {
      const { code, message, data } = errorObject(thrown);
      throw new ProtocolError(code, message, data);
    } finally {
      isOver = true;
    }
  }
  return server;
}

/** The list is the same for as long as the server runs; a client that outlives a restart asks anew after this time. */
const listCacheHint = { ttlMs: 5 * 60_000, cacheScope: "private" } as const;

// the registry's types are deeply readonly, the SDK's are not
function wire<T>(value: unknown): T {
  return value as T;
}
