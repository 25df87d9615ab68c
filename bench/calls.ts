/**
 * What one call costs the tool server: CPU of its process and calls a second, by kind of call.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:calls
 */
import { databaseEntry, startConfiguredServer } from "../tests/support/configured_server.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { httpLoad } from "./http_load.ts";
import { itemsTable } from "./items_table.ts";
import { cpuMs, print } from "./measure.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 5);
const connections = 32;

await using database = await createTestDatabase();
await database.query(itemsTable);
await using running = await startConfiguredServer(
  `databases: [${databaseEntry("main", database.name, "pool_max_conns: 4")}]`,
);
const { server, token } = running;

const call = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const query = (sql: string) => call("tools/call", { name: "query_database", arguments: { query: sql } });
const kinds = [
  { name: "tools/list", body: call("tools/list", {}), expect: "query_database" },
  { name: "SELECT 1", body: query("SELECT 1"), expect: '"row_count":1' },
  { name: "a row by key", body: query("SELECT * FROM items WHERE id = 4711"), expect: '"row_count":1' },
  {
    name: "100 rows of 4 columns",
    body: query("SELECT * FROM items ORDER BY id LIMIT 100"),
    expect: '"row_count":100',
  },
];

for (const { name, body, expect } of kinds) {
  const load = {
    url: `${server.url}/mcp/v1`,
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body,
    connections,
    expect,
  };
  await httpLoad({ ...load, requests: 2_000 });
  const before = await cpuMs(server.pid);
  const { requests, perSecond } = await httpLoad({ ...load, seconds });
  const perCallMs = (await cpuMs(server.pid) - before) / requests;
  print(name, `${perCallMs.toFixed(3)} ms of CPU a call; ${perSecond.toFixed(0)}/s`);
}
