import assert from "node:assert/strict";
import { withAddresses } from "../../../console/connect/guide.ts";
import { mcpAddress } from "../../../console/server.ts";
import { asClientCall, asCurl } from "../../../console/use/request_texts.ts";
import { readValue } from "../../../console/use/schema_values.ts";

const address = "https://tools.example.com/mcp/v1";

Deno.test("a shell sends a request as it is, whatever quotes it has", async () => {
  const request = {
    method: "tools/call",
    params: { name: "query_database", arguments: { query: `SELECT 'it''s' "$HOME" \\` } },
  };
  const command = asCurl(request, address, { kind: "token" });
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", command.replace(/^curl/, "printf '%s\\n'")],
    env: { POSTERN_TOKEN: "pst_1" },
  }).output();
  const words = new TextDecoder().decode(stdout).trim().split("\n");
  assert.deepEqual(words.slice(0, 6), [
    "-s",
    address,
    "-H",
    "Content-Type: application/json",
    "-H",
    "Authorization: Bearer pst_1",
  ]);
  assert.deepEqual(JSON.parse(words.at(-1) ?? ""), { jsonrpc: "2.0", id: 1, ...request });
});

Deno.test("where nobody is asked who calls, requests carry no token", () => {
  const request = { method: "resources/read", params: { uri: "pg://databases" } };
  assert.doesNotMatch(asCurl(request, address, { kind: "local" }), /Authorization/);
  assert.doesNotMatch(asClientCall(request, address, { kind: "local" }), /Authorization/);
  assert.match(asClientCall(request, address, { kind: "token" }), /client\.readResource\(\{\n {2}"uri"/);
});

Deno.test("MCP clients call what the server says, or what stands beside the page", () => {
  assert.equal(mcpAddress({ addresses: { mcp: address } }, "http://127.0.0.1:8080/console/"), address);
  assert.equal(
    mcpAddress({ addresses: {} }, "https://example.com/pg/console/#/use"),
    "https://example.com/pg/mcp/v1",
  );
});

Deno.test("guides name this server's addresses", () => {
  const addresses = { mcp: address, rag: "https://rag.example.com/v1" };
  assert.equal(withAddresses('"url": "http://localhost:8080/mcp/v1"', addresses), `"url": "${address}"`);
  assert.equal(
    withAddresses("curl http://localhost:8081/v1/pipelines", addresses),
    "curl https://rag.example.com/v1/pipelines",
  );
  assert.equal(withAddresses("https://mcp.example.com/other", addresses), "https://mcp.example.com/other");
});

Deno.test("a control's text becomes a value of its type", () => {
  assert.equal(readValue("  ", { type: "string" }), undefined);
  assert.equal(readValue("5", { type: "string" }), "5");
  assert.equal(readValue("5", { type: "integer" }), 5);
  assert.equal(readValue("false", { type: "boolean" }), false);
  assert.equal(readValue("2", { enum: [1, 2] }), 2);
  assert.deepEqual(readValue('{"a":[1]}', { type: "object" }), { a: [1] });
  assert.equal(readValue("{", { type: ["array", "null"] }), undefined);
  assert.equal(readValue("x", { type: ["string", "null"] }), "x");
});
