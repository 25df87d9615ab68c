/**
 * What the tool server costs beside what it stands on, each as a ratio of two measurements of the same run.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench [query] [list] [guard] [memory]
 */
import { honestStatements } from "../tests/postgres/guard/honest_statements.ts";
import { createStatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { databaseEntry, startConfiguredServer } from "../tests/support/configured_server.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { httpLoad } from "./http_load.ts";
import { median, print, residentBytes } from "./measure.ts";
import { transactionsPerSecond } from "./pg_alone.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 8);
const rounds = 3;
const connections = 32;
const poolSize = 4;

await using database = await createTestDatabase();
await using running = await startConfiguredServer(
  `databases: [${databaseEntry("main", database.name, `pool_max_conns: ${poolSize}`)}]`,
);
const { server, token } = running;
const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };

const selectOne = (requests?: number) =>
  httpLoad({
    url: `${server.url}/mcp/v1`,
    headers,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "query_database", arguments: { query: "SELECT 1" } },
    }),
    connections,
    expect: '"row_count":1',
    ...(requests === undefined ? { seconds } : { requests }),
  });

async function queryRatio(): Promise<void> {
  await selectOne(1000);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const ours = (await selectOne()).perSecond;
    const alone = await transactionsPerSecond({ url: database.url, connections: poolSize, seconds });
    ratios.push(ours / alone);
    print(
      `query_database SELECT 1, round ${round + 1}`,
      `${ours.toFixed(0)}/s; pg alone ${alone.toFixed(0)}/s`,
    );
  }
  print("query_database / pg alone (aim: at least 0.5)", median(ratios).toFixed(2));
}

async function listRatio(): Promise<void> {
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL("empty_server.ts", import.meta.url).pathname],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const emptyUrl = new TextDecoder().decode((await reader.read()).value).trim();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const shared = { connections, seconds, headers, body: JSON.stringify(list) };
    const ours = await httpLoad({ ...shared, url: `${server.url}/mcp/v1`, expect: "query_database" });
    const none = await httpLoad({ ...shared, url: emptyUrl, expect: "ok" });
    ratios.push(ours.perSecond / none.perSecond);
    print(
      `tools/list, round ${round + 1}`,
      `${ours.perSecond.toFixed(0)}/s; empty ${none.perSecond.toFixed(0)}/s`,
    );
  }
  child.kill();
  await child.status;
  await reader.cancel();
  print("tools/list / empty Deno.serve (aim: at least 0.25)", median(ratios).toFixed(2));
}

async function guardTime(): Promise<void> {
  const guard = await createStatementGuard();
  const times = honestStatements.map((sql) => {
    const runs = Array.from({ length: 50 }, (_, run) => {
      // another text each time, since the verdict on the same one is remembered
      const statement = sql + " ".repeat(run);
      const started = performance.now();
      guard.check(statement);
      return performance.now() - started;
    });
    return median(runs);
  });
  print("guard per statement, median (aim: under 0.3 ms)", `${median(times).toFixed(3)} ms`);
  print("guard per statement, slowest", `${Math.max(...times).toFixed(3)} ms`);
}

async function memoryAdded(): Promise<void> {
  const bytes = async (calls: number) => {
    await selectOne(calls);
    return await residentBytes(server.pid);
  };
  const [early, warm, late] = [await bytes(1_000), await bytes(9_000), await bytes(90_000)];
  print("memory after 100,000 calls / after 1,000", (late / early).toFixed(2));
  print("memory after 100,000 calls / after 10,000", (late / warm).toFixed(2));
}

const measurements = { query: queryRatio, list: listRatio, guard: guardTime, memory: memoryAdded };
for (const [name, measure] of Object.entries(measurements)) {
  if (Deno.args.length === 0 || Deno.args.includes(name)) await measure();
}
