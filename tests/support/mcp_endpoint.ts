import { behindFront } from "./front.ts";
import { createCalls } from "../../src/calls/calls.ts";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Principal } from "../../src/core/principal.ts";
import { createEndpoint } from "../../src/tool_server/endpoint.ts";
import type { McpOptions } from "../../src/tool_server/mcp/methods.ts";
import type { Tasks } from "../../src/tool_server/mcp/tasks.ts";
import { createStreamableHttp } from "../../src/tool_server/mcp/streamable_http.ts";
import { createPromptRegistry } from "../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../src/tool_server/resources/resource_registry.ts";
import { createRegistry } from "../../src/tool_server/tools/registry.ts";
import type { Tool, ToolRun } from "../../src/tool_server/tools/tool.ts";
import type { CallContext } from "../../src/tool_server/call_context.ts";

/** What MCP serves where nothing is given: nothing. */
export function mcpOptions(given: Partial<McpOptions> = {}): McpOptions {
  return {
    registry: createRegistry({ tools: [] }),
    resources: createResourceRegistry(),
    prompts: createPromptRegistry(),
    calls: createCalls(),
    serverInfo: { name: "postern", title: "Postern", version: "1" },
    ...given,
  };
}

/** The tool server's endpoint without authentication, over HTTP. */
export function serveMcp(
  { tasks, silentMs, ...given }: Partial<McpOptions> & {
    readonly tasks?: Tasks;
    readonly silentMs?: number;
  } = {},
) {
  const options = {
    ...mcpOptions(given),
    logger: silentLogger,
    ...(tasks && { tasks }),
    ...(silentMs !== undefined && { silentMs }),
  };
  const streamableHttp = createStreamableHttp(options);
  const bodyTimeout = createSharedDeadline(10_000);
  const endpoint = createEndpoint({
    ...options,
    streamableHttp,
    bodyTimeout,
    readiness: () => Promise.resolve({ status: "ready", databases: [], providers: [] }),
  });
  const fetch = behindFront({ served: endpoint });
  let requests = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => fetch(request, { requestId: String(++requests) }),
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp/v1`,
    options,
    streamableHttp,
    async [Symbol.asyncDispose](): Promise<void> {
      await streamableHttp.close();
      bodyTimeout.close();
      await server.shutdown();
    },
  };
}

/** A tool without arguments. */
export function plainTool(name: string, run: (context: CallContext) => ToolRun | Promise<ToolRun>): Tool {
  return {
    hidden: false,
    description: { name, title: name, description: name, inputSchema: { type: "object" } },
    prepare: () => (context) => Promise.resolve(run(context)),
  };
}

/** A call from within the process, as nobody in particular unless a principal is given. */
export function plainCall(principal: Principal = { kind: "local" }): CallContext {
  return { principal, signal: new AbortController().signal, logger: silentLogger };
}
