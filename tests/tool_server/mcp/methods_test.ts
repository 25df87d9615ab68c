import assert from "node:assert/strict";
import { createPromptRegistry, type Prompt } from "../../../src/tool_server/prompts/prompt_registry.ts";
import {
  createResourceRegistry,
  type ResourceSource,
} from "../../../src/tool_server/resources/resource_registry.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { plainTool, serveMcp } from "../../support/mcp_endpoint.ts";
import { askMcp, ways } from "../../support/mcp_request.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const prompt = (name: string, values: readonly string[] = []): Prompt => ({
  kind: "prompt",
  name,
  description: { name, arguments: [{ name: "table" }] },
  messages: () => Promise.resolve([]),
  complete: (_argument, value) => Promise.resolve(values.filter((each) => each.startsWith(value))),
});

const resources: ResourceSource = {
  list: () => numbers(205).map((number) => ({ uri: `test://${number}`, name: `r${number}` })),
  templates: () =>
    numbers(101).map((number) => ({ uriTemplate: `test://t${number}/{a}{/b*}`, name: `t${number}` })),
  read: () => Promise.resolve(undefined),
  complete: ({ uriTemplate, variable, value, given }) =>
    Promise.resolve(
      uriTemplate === "test://t7/{a}{/b*}" ? [`${variable} ${value} ${given["a"]}`] : undefined,
    ),
};

const many = {
  registry: createRegistry({
    tools: numbers(250).map((number) => plainTool(`tool_${number}`, () => ({ content: [] }))),
  }),
  resources: createResourceRegistry([resources]),
  prompts: createPromptRegistry(() => numbers(200).map((number) => prompt(`prompt_${number}`))),
};

const lists = [
  ["tools/list", "tools", "name", "tool_", 250],
  ["resources/list", "resources", "name", "r", 205],
  ["resources/templates/list", "resourceTemplates", "name", "t", 101],
  ["prompts/list", "prompts", "name", "prompt_", 200],
] as const;

Deno.test("lists come in pages of 100, each item once, in every way", async () => {
  await using served = serveMcp(many);
  for (const way of ways) {
    for (const [method, member, field, prefix, count] of lists) {
      const names: unknown[] = [];
      let cursor: unknown;
      do {
        const { result } = await askMcp(served.url, way, method, cursor === undefined ? {} : { cursor });
        const items = result?.[member];
        assert.ok(Array.isArray(items) && items.length <= 100);
        names.push(...items.map((item) => item[field]));
        cursor = result?.["nextCursor"];
      } while (cursor !== undefined);
      assert.deepEqual(names, numbers(count).map((number) => `${prefix}${number}`), `${way} ${method}`);
    }
  }
});

Deno.test("a cursor that leads nowhere is refused by its name, in every way", async () => {
  await using served = serveMcp(many);
  const { result } = await askMcp(served.url, "bare", "prompts/list");
  const ofPrompts = result?.["nextCursor"];
  assert.equal(typeof ofPrompts, "string");
  for (const way of ways) {
    for (
      const cursor of [
        "x",
        "",
        "0",
        ofPrompts,
        btoa("tools 3"),
        btoa("tools 0"),
        btoa("tools -1"),
        btoa("tools 1e0"),
      ]
    ) {
      const { error } = await askMcp(served.url, way, "tools/list", { cursor });
      assert.equal(error?.code, -32602, `${way} ${cursor}`);
      assert.match(error.message, /^Cannot list tools: cursor: /);
      assert.deepEqual(error.data, {
        faults: [{ argument: "cursor", message: "leads to no page of this list; begin again without it" }],
      });
    }
    const { error } = await askMcp(served.url, way, "resources/list", { cursor: 1 });
    assert.equal(error?.code, -32602);
    assert.match(error.message, /cursor/);
  }
});

Deno.test("completion/complete gives 100 values at most and says how many there are, in every way", async () => {
  const values = numbers(150).map((number) => `orders_${number}`);
  await using served = serveMcp({
    ...many,
    prompts: createPromptRegistry(() => [prompt("explain", values)]),
  });
  const complete = (way: (typeof ways)[number], ref: object, argument: object, context?: object) =>
    askMcp(served.url, way, "completion/complete", { ref, argument, ...(context && { context }) });
  const explain = { type: "ref/prompt", name: "explain" };
  const template = { type: "ref/resource", uri: "test://t7/{a}{/b*}" };
  for (const way of ways) {
    const all = await complete(way, explain, { name: "table", value: "orders" });
    assert.deepEqual(all.result?.["completion"], { values: values.slice(0, 100), total: 150, hasMore: true });
    const one = await complete(way, explain, { name: "table", value: "orders_149" });
    assert.deepEqual(one.result?.["completion"], { values: ["orders_149"], total: 1, hasMore: false });
    const given = await complete(way, template, { name: "b", value: "x" }, { arguments: { a: "chosen" } });
    assert.deepEqual(given.result?.["completion"], { values: ["b x chosen"], total: 1, hasMore: false });
    const address = await complete(way, { type: "ref/resource", uri: "test://0" }, { name: "a", value: "" });
    assert.deepEqual(address.result?.["completion"], { values: [], total: 0, hasMore: false });

    const refusals: [object, string, RegExp][] = [
      [{ type: "ref/prompt", name: "other" }, "table", /no such prompt/],
      [explain, "color", /^Cannot complete "color": it is not an argument of prompt explain$/],
      [{ type: "ref/resource", uri: "test://{other}" }, "other", /no such template/],
      [template, "c", /^Cannot complete "c": test:\/\/t7\/\{a\}\{\/b\*\} has a and b$/],
      [{ type: "ref/tool", name: "x" }, "x", /ref/],
    ];
    for (const [ref, name, message] of refusals) {
      const { error } = await complete(way, ref, { name, value: "" });
      assert.equal(error?.code, -32602, `${way} ${JSON.stringify(ref)}`);
      assert.match(error.message, message);
    }
  }
});

Deno.test("a resource that there is not is -32602 with its address, in every way", async () => {
  await using served = serveMcp(many);
  for (const way of ways) {
    const { error } = await askMcp(served.url, way, "resources/read", { uri: "test://nope" });
    assert.equal(error?.code, -32602);
    assert.deepEqual(error.data, { uri: "test://nope" });
  }
});
