import assert from "node:assert/strict";
import { instructionsFor } from "../../../src/tool_server/mcp/json_rpc.ts";

function instructions(tools: readonly string[], prompts: readonly string[] = [], databases = 1): string {
  const named = (names: readonly string[]) => names.map((name) => ({ name }));
  return instructionsFor({
    registry: { listTools: () => named(tools) },
    prompts: { list: () => named(prompts) },
    databaseChoice: { count: () => databases },
  }, { kind: "local" });
}

Deno.test("instructions name what there is, and nothing else", () => {
  assert.equal(
    instructions(["query_database", "list_databases", "get_schema_info"]),
    "Read-only access to PostgreSQL databases. Call list_databases to see which you may use, get_schema_info for " +
      "their tables and columns, then query_database with SQL or a request in words. Nothing can be written.",
  );
  assert.equal(instructions([]), "Read-only access to PostgreSQL databases. Nothing can be written.");
});

Deno.test("instructions name documents, resources and prompts", () => {
  assert.equal(
    instructions(
      ["query_database", "search", "fetch", "ask_pipeline", "read_resource", "orders_of_customer"],
      ["a", "b", "c", "d", "e", "f"],
      2,
    ),
    "Read-only access to documents and PostgreSQL databases. Call query_database with SQL or a request in words. " +
      "Name `database` in each call. Besides: search, fetch, ask_pipeline for documents; " +
      "read_resource for resources. Prompts: a, b, c, d and 2 more. Nothing can be written.",
  );
});
