import assert from "node:assert/strict";
import { findTools } from "../../../src/tool_server/tools/find_tools.ts";
import type { ToolDescription } from "../../../src/tool_server/tools/tool.ts";
import { callTool } from "../../support/tool_fixture.ts";

const described = (name: string, description: string): ToolDescription => ({
  name,
  title: name,
  description,
  inputSchema: { type: "object" },
});
const tools = [
  described("orders_of_customer", "The orders of one customer."),
  described("stock_levels", "How many pieces of a product are in each warehouse."),
  described("late_deliveries", "Deliveries to customers that are late."),
  described("find_tools", "Finds tools about customers."),
];
const tool = findTools({ usableTools: ({ kind }) => kind === "local" ? tools : tools.slice(1, 2) });

async function found(args: Record<string, unknown>): Promise<string[]> {
  const { data } = await callTool(tool, args);
  return (data["tools"] as { name: string }[]).map(({ name }) => name);
}

Deno.test("find_tools finds by words of names and descriptions, in any of their forms", async () => {
  assert.deepEqual(await found({ query: "what did customers order?" }), [
    "orders_of_customer",
    "late_deliveries",
  ]);
  assert.deepEqual(await found({ query: "delivery" }), ["late_deliveries"]);
  assert.deepEqual(await found({ query: "WAREHOUSES" }), ["stock_levels"]);
  assert.deepEqual(await found({ query: "customer", limit: 1 }), ["orders_of_customer"]);
  assert.deepEqual(await found({ query: "the of and" }), []);
});

Deno.test("find_tools knows of no tool that its caller may not use", async () => {
  const { data, text } = await callTool(tool, { query: "customer" }, { kind: "token", id: "t" });
  assert.deepEqual(data, { tools: [] });
  assert.match(text, /^No tool that you may use/);
});
