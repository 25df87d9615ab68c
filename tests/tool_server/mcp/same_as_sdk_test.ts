import assert from "node:assert/strict";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { createChanges } from "../../../src/tool_server/changes.ts";
import { createConnectionChanges } from "../../../src/tool_server/mcp/change_streams.ts";
import { createSdkServer } from "../../../src/tool_server/mcp/stdio.ts";
import { createTasks } from "../../../src/tool_server/mcp/tasks.ts";
import { createPromptRegistry } from "../../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../../src/tool_server/resources/resource_registry.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { mcpOptions, plainCall, plainTool, serveMcp } from "../../support/mcp_endpoint.ts";
import { memoryState } from "../../support/state.ts";

const [version, info, able] = ["protocolVersion", "clientInfo", "clientCapabilities"].map((key) =>
  `io.modelcontextprotocol/${key}`
) as [string, string, string];
const envelope = { [version]: "2026-07-28", [info]: { name: "test", version: "1" }, [able]: {} };
const both = "application/json, text/event-stream";

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

type Params = Readonly<Record<string, unknown>>;

/** Requests in the words of any revision: the method, its params, and what `Mcp-Name` repeats. */
type Request = readonly [method: string, params?: Params, name?: string];

const requests = {
  initialize: ["initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  }],
  "initialize in an unknown revision": ["initialize", {
    protocolVersion: "1999-01-01",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  }],
  "ping": ["ping"],
  "discover": ["server/discover", {}],
  "tools": ["tools/list", {}],
  "tools from a cursor that leads nowhere": ["tools/list", { cursor: "x" }],
  "a call": ["tools/call", { name: "plain", arguments: {} }, "plain"],
  "a call that fails": ["tools/call", { name: "failing", arguments: {} }, "failing"],
  "a call that breaks": ["tools/call", { name: "broken", arguments: {} }, "broken"],
  "a call that asks its user": ["tools/call", { name: "asking", arguments: {} }, "asking"],
  "a call with arguments that it does not take": [
    "tools/call",
    { name: "plain", arguments: { a: 1 } },
    "plain",
  ],
  "a call of no tool": ["tools/call", { name: "none", arguments: {} }, "none"],
  "a call that tells nothing though it is asked": [
    "tools/call",
    { name: "plain", arguments: {}, _meta: { progressToken: 1 } },
    "plain",
  ],
  "a call that tells how far it is": [
    "tools/call",
    { name: "telling", arguments: {}, _meta: { progressToken: "a" } },
    "telling",
  ],
  "a call that takes long": ["tools/call", { name: "slow", arguments: {} }, "slow"],
  "resources": ["resources/list", {}],
  "templates": ["resources/templates/list", {}],
  "a resource": ["resources/read", { uri: "test://one" }, "test://one"],
  "a resource that is not there": ["resources/read", { uri: "test://none" }, "test://none"],
  "a resource without an address": ["resources/read", {}],
  "prompts": ["prompts/list", {}],
  "a prompt": ["prompts/get", { name: "greet", arguments: { who: "you" } }, "greet"],
  "a prompt that is not there": ["prompts/get", { name: "none" }, "none"],
  "a completion": ["completion/complete", {
    ref: { type: "ref/prompt", name: "greet" },
    argument: { name: "who", value: "y" },
  }],
  "a completion of nothing": ["completion/complete", {}],
  "a task that is not there": ["tasks/get", { taskId: "x" }, "x"],
  "an unknown method": ["no/such", {}],
  "what only a connection has": ["resources/subscribe", { uri: "test://one" }],
  "what nobody has": ["logging/setLevel", { level: "info" }],
} satisfies Record<string, Request>;

const older = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

function olderRequest(
  revision: string | undefined,
  [method, params]: readonly [string, Params?, string?],
): Asked {
  return {
    headers: { accept: both, ...(revision !== undefined && { "mcp-protocol-version": revision }) },
    body: { jsonrpc: "2.0", id: 7, method, ...(params && { params }) },
  };
}

function currentRequest(
  [method, params = {}, name]: readonly [string, Params?, string?],
  can: Params = {},
): Asked {
  const meta = { ...envelope, [able]: can, ...params["_meta"] as Params };
  return {
    headers: {
      ...current,
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    },
    body: { jsonrpc: "2.0", id: "a", method, params: { ...params, _meta: meta } },
  };
}

const current = { accept: both, "mcp-protocol-version": "2026-07-28" };
const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: envelope } };
const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "plain", arguments: {}, _meta: envelope },
};
const listing = { ...current, "mcp-method": "tools/list" };
const calling = { ...current, "mcp-method": "tools/call" };
const withMeta = (meta: Params): unknown => ({ ...list, params: { _meta: meta } });
const without = (name: string, from: Params = listing): Record<string, string> =>
  Object.fromEntries(
    Object.entries(from).filter(([key]) => key !== name).map(([key, value]) => [key, `${value}`]),
  );

/** Requests that are not as they should be, or are for nobody. */
const odd: Readonly<Record<string, Asked>> = {
  "no header names the revision": { headers: without("mcp-protocol-version"), body: list },
  "no header names the method": { headers: without("mcp-method"), body: list },
  "a header names another method": { headers: { ...listing, "mcp-method": "x" }, body: list },
  "a header names another revision": {
    headers: { ...listing, "mcp-protocol-version": "2025-06-18" },
    body: list,
  },
  "no envelope": { headers: listing, body: { ...list, params: {} } },
  "no params": { headers: listing, body: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
  "an empty envelope": { headers: listing, body: withMeta({}) },
  "a revision to come": {
    headers: { ...listing, "mcp-protocol-version": "2027-01-01" },
    body: withMeta({ ...envelope, [version]: "2027-01-01" }),
  },
  "an envelope of an older revision": {
    headers: { ...listing, "mcp-protocol-version": "2025-06-18" },
    body: withMeta({ ...envelope, [version]: "2025-06-18" }),
  },
  "an envelope without the client's name": { headers: listing, body: withMeta(without(info, envelope)) },
  "an envelope without capabilities": {
    headers: listing,
    body: withMeta({ [version]: "2026-07-28", [info]: { name: "test", version: "1" } }),
  },
  "a client's name that is none": { headers: listing, body: withMeta({ ...envelope, [info]: { name: 1 } }) },
  "a revision that is a number": { headers: listing, body: withMeta({ ...envelope, [version]: 5 }) },
  "capabilities that are a list": { headers: listing, body: withMeta({ ...envelope, [able]: [] }) },
  "a log level that is none": {
    headers: listing,
    body: withMeta({ ...envelope, "io.modelcontextprotocol/logLevel": "x" }),
  },
  "no header names the tool": { headers: calling, body: call },
  "a header names another tool": { headers: { ...calling, "mcp-name": "x" }, body: call },
  "a header names the tool in base64": {
    headers: { ...calling, "mcp-name": `=?base64?${btoa("plain")}?=` },
    body: call,
  },
  "a header names the tool in what is no base64": {
    headers: { ...calling, "mcp-name": "=?base64?***?=" },
    body: call,
  },
  "initialize with a header of now": {
    headers: listing,
    body: olderRequest(undefined, requests.initialize).body,
  },
  "a notification": {
    headers: { accept: both },
    body: { jsonrpc: "2.0", method: "notifications/initialized" },
  },
  "a notification of now": {
    headers: { ...current, "mcp-method": "notifications/x" },
    body: { jsonrpc: "2.0", method: "notifications/x", params: { _meta: envelope } },
  },
  "a notification that a header names otherwise": {
    headers: { ...current, "mcp-method": "y" },
    body: { jsonrpc: "2.0", method: "notifications/x", params: {} },
  },
  "an unknown older revision": {
    headers: { accept: both, "mcp-protocol-version": "1999-01-01" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  "events alone are accepted": {
    headers: { accept: "text/event-stream" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  "JSON alone is accepted, of now": { headers: { ...listing, accept: "application/json" }, body: list },
  "events alone are accepted, of now": { headers: { ...listing, accept: "text/event-stream" }, body: list },
  "a batch of notifications": {
    headers: { accept: both },
    body: [{ jsonrpc: "2.0", method: "notifications/x" }],
  },
  "a batch with an envelope": { headers: listing, body: [list] },
  "a response": { headers: { accept: both }, body: { jsonrpc: "2.0", id: 1, result: {} } },
  "an error": {
    headers: { accept: both },
    body: { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } },
  },
};

const cases: readonly (readonly [name: string, asked: Asked])[] = [
  ...[undefined, ...older].flatMap((revision) =>
    Object.entries(requests).map(([name, request]) =>
      [`${name}, ${revision ?? "no revision"}`, olderRequest(revision, request)] as const
    )
  ),
  ...Object.entries(requests).map(([name, request]) =>
    [`${name}, 2026-07-28`, currentRequest(request)] as const
  ),
  [
    "a call that asks its user, who can be asked",
    currentRequest(requests["a call that asks its user"], {
      elicitation: { form: {} },
    }),
  ],
  [
    "a call that takes long, as a task",
    currentRequest(requests["a call that takes long"], {
      extensions: { "io.modelcontextprotocol/tasks": {} },
    }),
  ],
  [
    "a task that is not there, of a client that takes them",
    currentRequest(requests["a task that is not there"], {
      extensions: { "io.modelcontextprotocol/tasks": {} },
    }),
  ],
  ...Object.entries(odd),
];

/** What is not the same on purpose, by the beginning of a case's name. */
const intended: Readonly<Record<string, string>> = {
  // what a resource says of how long it is good for is of 2026-07-28
  "a resource, 20(?!26)": "older clients get no ttlMs",
  "a resource, no": "older clients get no ttlMs",
  // the SDK's handle has content, which SEP-2663 does not know
  "a call that takes long, as a task": "a handle has no content",
};

function fixture() {
  const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
  const form = { type: "object", properties: {}, required: [] } as const;
  const tools = [
    plainTool("plain", () => ({ ...text("done"), structuredContent: { a: 1 }, _meta: { b: 2 } })),
    plainTool("failing", () => ({ ...text("no"), isError: true })),
    plainTool("broken", () => {
      throw new Error("broken");
    }),
    plainTool(
      "asking",
      ({ client }) =>
        client?.canAsk ? { content: [], ask: { key: "q", message: "Sure?", form } } : text("not asked"),
    ),
    plainTool("telling", async ({ client }) => {
      client?.notifyProgress?.(1, 2, "one");
      await new Promise((resolve) => setTimeout(resolve, 5));
      client?.notifyProgress?.(2, undefined, "two");
      return text("told");
    }),
    {
      ...plainTool("slow", async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return text("late");
      }),
      mayBecomeTask: true,
    },
  ];
  const one = { uri: "test://one", name: "one", title: "One", description: "One", mimeType: "text/plain" };
  return {
    ...mcpOptions({
      changes: createChanges(),
      registry: createRegistry({ tools }),
      resources: createResourceRegistry([{
        list: () => [one],
        templates: () => [],
        read: (uri) => Promise.resolve(uri === one.uri ? [{ uri, text: "1" }] : undefined),
        freshness: () => ({ ttlMs: 5, cacheScope: "public" }),
      }]),
      prompts: createPromptRegistry(() => [{
        kind: "prompt",
        name: "greet",
        description: { name: "greet", arguments: [{ name: "who" }] },
        messages: ({ who }) =>
          Promise.resolve([{ role: "user", content: { type: "text", text: `Hello ${who}` } }]),
        complete: () => Promise.resolve(["you"]),
      }]),
    }),
    tasks: createTasks({ state: memoryState(), waitMs: 20 }),
  };
}

async function replyOf(response: Response) {
  const body = await response.text();
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const messages = isStream
    ? body.split("\n\n").flatMap((event) => /^data: ?(.+)$/m.exec(event)?.[1] ?? [])
    : body === ""
    ? []
    : [body];
  // nothing but what is told before a result makes a stream of it
  if (response.url !== "") assert.equal(isStream, messages.length > 1);
  return {
    status: response.status,
    messages: messages.map((message) => JSON.parse(masked(message))),
  };
}

const masked = (text: string) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…");

Deno.test("HTTP requests are answered as the official SDK's own handler answers them", async (t) => {
  const options = fixture();
  await using served = serveMcp(options);
  const handler = createMcpHandler((served) => {
    const isNow = served["era"] === "modern";
    return createSdkServer(options, plainCall(), {
      tells: isNow ? createConnectionChanges(createChanges(), { kind: "local" }) : undefined,
      tasks: isNow ? options.tasks : undefined,
    });
  });
  for (const [name, { headers, body }] of cases) {
    await t.step(name, async () => {
      const ask = {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      };
      const ours = await replyOf(await fetch(served.url, ask));
      const theirs = await replyOf(await handler.fetch(new Request(served.url, ask)));
      const difference = Object.keys(intended).some((beginning) => new RegExp(`^${beginning}`).test(name));
      if (difference) assert.notDeepEqual(ours, theirs);
      else assert.deepEqual(ours, theirs);
    });
  }
  await handler.close();
  await options.tasks[Symbol.asyncDispose]();
});
