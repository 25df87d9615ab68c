import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";

const listRequest = '{"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {}}';

testWithPostgres("the endpoint answers each kind of request as documented", async (t) => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`databases: [${databaseEntry("main", database.name)}]`);
  const { token } = await folder.addToken();
  const short = await folder.addToken({ expiry: "1s" });
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { post, request, call } = createToolClient({ url: server.url, token });
  const endpoint = `${server.url}/mcp/v1`;

  await t.step("a missing, a wrong and an expired token get the same 401, byte for byte", async () => {
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    const authorizations = [
      {},
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer nope" },
      { authorization: `Basic ${btoa("a:b")}` },
      { authorization: `Bearer ${"x".repeat(600)}` },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer ${short.token}` },
    ];
    for (const headers of authorizations) {
      const response = await fetch(endpoint, {
        method: "POST",
        body: listRequest,
        headers: { "content-type": "application/json", ...headers } as Record<string, string>,
      });
      assert.equal(response.status, 401);
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      assert.equal(await response.text(), '{"error": "Unauthorized"}');
    }
  });

  await t.step("tools/list answers without initialize, Accept or session, in plain JSON", async () => {
    const response = await post(listRequest);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const { jsonrpc, id, result } = await response.json();
    assert.deepEqual([jsonrpc, id], ["2.0", 0]);
    assert.deepEqual(result.tools.map((tool: { name: string }) => tool.name), [
      "query_database",
      "get_schema_info",
      "count_rows",
      "execute_explain",
      "list_databases",
      "select_database",
      "read_resource",
    ]);
    for (const tool of result.tools) {
      assert.equal(tool.inputSchema.type, "object", tool.name);
      assert.equal(tool.outputSchema.type, "object", tool.name);
      assert.ok(tool.description.length > 40, tool.name);
    }
  });

  const bodies: [string, number, number, BodyInit][] = [
    ["not UTF-8", 400, -32700, new Uint8Array([0x7b, 0xff, 0x7d])],
    ["a method that does not exist", 200, -32601, '{"jsonrpc": "2.0", "id": 1, "method": "tools/nope"}'],
  ];
  for (const [what, status, code, body] of bodies) {
    await t.step(`${what} gets ${status} and ${code}`, async () => {
      const response = await post(body);
      assert.equal(response.status, status);
      assert.equal((await response.json()).error.code, code);
    });
  }

  await t.step("a notification gets 202 and nothing", async () => {
    const response = await post('{"jsonrpc": "2.0", "method": "notifications/initialized"}');
    assert.equal(response.status, 202);
    assert.equal(await response.text(), "");
  });

  await t.step("an unknown tool and arguments that do not fit get -32602, naming each field", async () => {
    const unknown = await request("tools/call", { name: "drop_database", arguments: {} });
    assert.equal(unknown.error.code, -32602);
    const { error } = await request("tools/call", {
      name: "query_database",
      arguments: { limit: 0, offset: "x", extra: 1 },
    });
    assert.equal(error.code, -32602);
    for (const field of ["query", "limit", "offset", "extra"]) {
      assert.match(error.message, new RegExp(`\\b${field}: `));
    }
  });

  await t.step("a tool that ran and failed is a result that a model can act on", async () => {
    const { isError, text } = await call("query_database", { query: "SELECT nam FROM pg_class" });
    assert.equal(isError, true);
    assert.match(text, /column "nam" does not exist/);
    assert.match(text, /SQLSTATE: 42703/);
    assert.match(text, /Position: line 1, character 8\n {2}SELECT nam FROM pg_class\n {9}\^/);
  });

  await t.step("a batch is answered as JSON-RPC 2.0 says", async () => {
    const response = await post(
      '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":2,"method":"x"}]',
    );
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), [
      { jsonrpc: "2.0", id: "a", result: {} },
      { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "Method not found" } },
    ]);
  });

  await t.step("the server stops on SIGTERM and exits 0", async () => {
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.stderr(), new RegExp(token));
  });
});
