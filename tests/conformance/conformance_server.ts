import { createMcpHandler } from "@modelcontextprotocol/server";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { AppError } from "../../src/core/app_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { createHostAndOriginCheck } from "../../src/http/host_and_origin.ts";
import type { RouteBindings } from "../../src/http/listener.ts";
import { behindFront } from "../support/front.ts";
import type { CallContext } from "../../src/tool_server/call_context.ts";
import { createChanges } from "../../src/tool_server/changes.ts";
import { createEndpoint } from "../../src/tool_server/endpoint.ts";
import { createTasks } from "../../src/tool_server/mcp/tasks.ts";
import { createStreamableHttp } from "../../src/tool_server/mcp/streamable_http.ts";
import { createPromptRegistry, type Prompt } from "../../src/tool_server/prompts/prompt_registry.ts";
import {
  createResourceRegistry,
  type ResourceSource,
} from "../../src/tool_server/resources/resource_registry.ts";
import { createRegistry } from "../../src/tool_server/tools/registry.ts";
import { errorResult, type Tool, type ToolRun } from "../../src/tool_server/tools/tool.ts";
import { mcpOptions, plainTool } from "../support/mcp_endpoint.ts";
import { memoryState } from "../support/state.ts";
import { createForeignServer, isForeign } from "./foreign_parts.ts";

/** The tool server's endpoint over HTTP, with the tools, resources and prompts that the conformance suite asks for. */
export function startConformanceServer() {
  const changes = createChanges();
  const state = memoryState();
  const options = {
    ...mcpOptions({
      changes,
      registry: createRegistry({ tools: toolsOf(changes) }),
      resources: createResourceRegistry([resources]),
      prompts: createPromptRegistry(() => prompts),
    }),
    // every call that may become a task does
    tasks: createTasks({ state, waitMs: 0 }),
    logger: silentLogger,
  };
  const bodyTimeout = createSharedDeadline(10_000);
  const streamableHttp = createStreamableHttp(options);
  const foreign = createMcpHandler(createForeignServer);
  const endpoint = createEndpoint({
    ...options,
    streamableHttp,
    bodyTimeout,
    readiness: () => Promise.resolve({ status: "ready", databases: [], providers: [] }),
  });
  const served = {
    ...endpoint,
    async answer(request: Request, bindings: RouteBindings) {
      const name = await request.clone().json().then(
        ({ params }) => params?.name ?? params?.uri,
        () => undefined,
      );
      return isForeign(String(name))
        ? await foreign.fetch(request)
        : await endpoint.answer(request, bindings);
    },
  };
  let requests = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => fetch(request, { requestId: String(++requests) }),
  );
  const fetch = behindFront({ served }, {
    checkHostAndOrigin: createHostAndOriginCheck({
      address: { host: "127.0.0.1", port: server.addr.port },
      authenticated: false,
      allowedHosts: [],
      allowedOrigins: [],
    }),
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp/v1`,
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([streamableHttp.close(), foreign.close()]);
      bodyTimeout.close();
      await server.shutdown();
      await options.tasks[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}

const text = (text: string): ToolRun => ({ content: [{ type: "text", text }] });
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function toolsOf(changes: ReturnType<typeof createChanges>): Tool[] {
  return [
    plainTool("test_simple_text", () => text("This is a simple text response for testing.")),
    plainTool(
      "test_error_handling",
      () => errorResult("This tool intentionally returns an error for testing"),
    ),
    plainTool("test_tool_with_progress", withProgress),
    plainTool("test_logging_tool", () => text("Nothing is logged to clients")),
    plainTool("test_streaming_elicitation", askForName),
    plainTool("test_input_required_result_elicitation", askForName),
    plainTool("test_trigger_tool_change", () => {
      changes.publish({ kind: "tools" });
      return text("The tools have changed");
    }),
    plainTool("test_trigger_prompt_change", () => {
      changes.publish({ kind: "prompts" });
      return text("The prompts have changed");
    }),
    schemaTool,
    { ...plainTool("greet", () => text("")), prepare: (args) => () => Promise.resolve(greet(args)) },
    { ...plainTool("slow_compute", compute), mayBecomeTask: true },
    {
      ...plainTool("failing_job", () => pause().then(() => errorResult("The job failed"))),
      mayBecomeTask: true,
    },
    { ...plainTool("protocol_error_job", () => pause().then(refuse)), mayBecomeTask: true },
  ];
}

function greet(args: unknown): ToolRun {
  const name = typeof args === "object" && args !== null && "name" in args ? args.name : undefined;
  return text(`Hello, ${name}!`);
}

function refuse(): never {
  throw new AppError("overloaded", "Cannot run the job: there is no room", {
    data: { retryAfterSeconds: 1 },
  });
}

async function compute({ signal }: CallContext): Promise<ToolRun> {
  for (let step = 0; step < 20 && !signal.aborted; step++) await pause();
  return text("The computation is done");
}

async function withProgress({ client }: CallContext): Promise<ToolRun> {
  for (const progress of [0, 50, 100]) {
    client?.notifyProgress?.(progress, 100, `${progress} of 100`);
    await pause();
  }
  return text("The steps are done");
}

function askForName({ client }: CallContext): ToolRun {
  const answer = client?.answers?.["user_name"];
  const name = typeof answer === "object" && answer !== null && "content" in answer &&
      typeof answer.content === "object" && answer.content !== null && "name" in answer.content
    ? answer.content.name
    : undefined;
  if (typeof name === "string") return text(`Hello, ${name}!`);
  const form = {
    type: "object",
    properties: { name: { type: "string", title: "Name" } },
    required: ["name"],
  } as const;
  return { content: [], ask: { key: "user_name", message: "What is your name?", form } };
}

const address = {
  $anchor: "addressDef",
  type: "object",
  properties: { street: { type: "string" }, city: { type: "string" } },
};

const schemaTool: Tool = {
  ...plainTool("json_schema_2020_12_tool", () => text("called")),
  description: {
    name: "json_schema_2020_12_tool",
    title: "Schema",
    description: "Tool with JSON Schema 2020-12 features",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { address },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  },
};

const template = "test://template/{id}/data";

const resources: ResourceSource = {
  list: () => [
    { uri: "test://static-text", name: "text", description: "A text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "binary", description: "An image", mimeType: "image/png" },
    { uri: "test://watched-resource", name: "watched", description: "A resource to watch" },
  ],
  templates:
    () => [{ uriTemplate: template, name: "template", description: "Data", mimeType: "application/json" }],
  read(uri) {
    if (uri === "test://static-text") {
      const text = "This is the content of the static text resource.";
      return Promise.resolve([{ uri, mimeType: "text/plain", text }]);
    }
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
    if (id === undefined) return Promise.resolve(undefined);
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return Promise.resolve([{ uri, mimeType: "application/json", text }]);
  },
};

function prompt(
  name: string,
  args: readonly string[],
  say: (args: Readonly<Record<string, string>>) => string,
): Prompt {
  return {
    kind: "prompt",
    name,
    description: {
      name,
      description: name,
      arguments: args.map((name) => ({ name, description: name, required: true })),
    },
    messages: (given) => Promise.resolve([{ role: "user", content: { type: "text", text: say(given) } }]),
    complete: (_argument, value) =>
      Promise.resolve(["paris", "park", "party"].filter((word) => word.startsWith(value))),
  };
}

const prompts = [
  prompt("test_simple_prompt", [], () => "This is a simple prompt for testing."),
  prompt(
    "test_prompt_with_arguments",
    ["arg1", "arg2"],
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  ),
];
