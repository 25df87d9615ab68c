import assert from "node:assert/strict";
import fc from "fast-check";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";

const statuses = [200, 202, 400, 415];
// what the Streamable HTTP transport adds, for a client that names the revision of 2026 in a header
const transportStatuses = [...statuses, 404, 406];
const numRuns = Number(Deno.env.get("FUZZ_RUNS") ?? 300);

const json = fc.json({ maxDepth: 6 });
const bytes = fc.uint8Array({ maxLength: 400 });
const envelope = fc.record({
  jsonrpc: fc.oneof({ weight: 8, arbitrary: fc.constant("2.0") }, fc.jsonValue()),
  id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.jsonValue()),
  method: fc.oneof(
    fc.constantFrom("tools/list", "tools/call", "ping", "initialize", "notifications/cancelled", "__proto__"),
    fc.string(),
    fc.jsonValue(),
  ),
  params: fc.oneof(
    fc.record({
      name: fc.oneof(
        fc.constantFrom(
          "query_database",
          "count_rows",
          "get_schema_info",
          "execute_explain",
          "select_database",
        ),
        fc.string(),
        fc.jsonValue(),
      ),
      arguments: fc.oneof(
        fc.record({ query: fc.string(), limit: fc.jsonValue(), database: fc.jsonValue() }, {
          requiredKeys: [],
        }),
        fc.record({ table: fc.string(), schema: fc.string(), where: fc.string() }, {
          requiredKeys: ["table"],
        }),
        fc.record({ schema_name: fc.string(), table_name: fc.string() }),
        fc.record({ name: fc.string() }),
        fc.jsonValue(),
      ),
    }),
    fc.jsonValue(),
  ),
}, { requiredKeys: [] }).map((value) => JSON.stringify(value));
const batch = fc.array(envelope, { maxLength: 60 }).map((items) => `[${items.join(",")}]`);
const headers = fc.record({
  "content-type": fc.constantFrom("application/json", "application/json; charset=utf-8", "text/plain"),
  accept: fc.constantFrom("application/json", "application/json, text/event-stream", "*/*"),
  "mcp-protocol-version": fc.constantFrom("2025-06-18", "2026-07-28", "1999-01-01", "x"),
}, { requiredKeys: [] });

/** One of the documented replies: a JSON-RPC message (or several, or an event stream of them), or nothing for a notification. */
function checkReply(status: number, contentType: string, text: string): void {
  assert.doesNotMatch(text, /\bat .*\.ts:\d+|node_modules|file:\/\//, "a stack trace");
  if (status === 202) return assert.equal(text, "");
  const messages = contentType.startsWith("text/event-stream")
    ? text.split("\n").filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)))
    : [JSON.parse(text)].flat();
  for (const message of messages) {
    assert.equal(message.jsonrpc, "2.0");
    assert.equal("result" in message, !("error" in message));
    if ("error" in message) assert.equal(typeof message.error.code, "number");
  }
}

testWithPostgres(
  "any bytes, JSON and envelope get a documented reply, never a crash, a hang or a stack trace",
  async (t) => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(
      `databases: [${databaseEntry("main", database.name, "statement_timeout: 2s")}]`,
    );
    const { client, server } = running;

    const bodies: [string, fc.Arbitrary<string | Uint8Array<ArrayBuffer>>][] = [
      ["bytes", bytes.map((array) => Uint8Array.from(array))],
      ["JSON", json],
      ["envelopes", envelope],
      ["batches", batch],
    ];
    for (const [what, body] of bodies) {
      await t.step(what, async () => {
        await fc.assert(
          fc.asyncProperty(body, headers, async (body, headers) => {
            const response = await client.post(body, {
              headers: { "content-type": "application/json", ...headers } as Record<string, string>,
              signal: AbortSignal.timeout(20_000),
            });
            const text = await response.text();
            const expected = headers["mcp-protocol-version"] === "2026-07-28" ? transportStatuses : statuses;
            assert.ok(expected.includes(response.status), `${response.status} ${text}`);
            checkReply(response.status, response.headers.get("content-type") ?? "", text);
          }),
          { numRuns },
        );
      });
    }

    await t.step("a nest of a million brackets", async () => {
      for (
        const text of [
          "[".repeat(1_000_000),
          '{"a":'.repeat(500_000),
          "[".repeat(200_000) + "]".repeat(200_000),
        ]
      ) {
        const response = await client.post(text);
        assert.ok([200, 400].includes(response.status));
        checkReply(response.status, "application/json", await response.text());
      }
    });

    await t.step("and the server answers as before", async () => {
      assert.deepEqual((await client.call("query_database", { query: "SELECT 1" })).data["rows"], [[1]]);
      assert.doesNotMatch(server.stderr(), /\bERROR\b/);
      assert.equal(await server.stop(), 0);
    });
  },
);
