/**
 * What each stage of a call of `query_database` costs alone, in this process: its time, and for what waits for PostgreSQL
 * also the CPU of this process.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:stages
 */
import process from "node:process";
import { silentLogger } from "../src/core/logger.ts";
import { findExcess } from "../src/http/request_body.ts";
import { createAuthenticator } from "../src/identity/authenticator.ts";
import { createSessions } from "../src/identity/sessions.ts";
import { createTokenIndex } from "../src/identity/tokens/token_directory.ts";
import { createToken } from "../src/identity/tokens/token_file.ts";
import { createDatabase } from "../src/postgres/database.ts";
import { createCheckScheduler } from "../src/postgres/guard/check_scheduler.ts";
import { createStatementGuard } from "../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../src/postgres/pool/connection_pools.ts";
import { jsonRpcReply } from "../src/tool_server/http_replies.ts";
import { createDatabaseDirectory } from "../src/tool_server/tools/databases/database_directory.ts";
import { queryDatabase } from "../src/tool_server/tools/query_database.ts";
import { createTestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { itemsTable } from "./items_table.ts";
import { median, print } from "./measure.ts";
import { rowsReply } from "../src/tool_server/tools/statement_reply.ts";

const rounds = 5;
const roundMs = 200;

/** Median over some rounds, in microseconds. */
async function stage(name: string, run: () => unknown): Promise<void> {
  const times: number[] = [];
  const cpuTimes: number[] = [];
  let waits = false;
  // the first round warms up
  for (let round = 0; round <= rounds; round++) {
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    let count = 0;
    for (; performance.now() - startedAt < roundMs; count++) {
      const result = run();
      if (!(result instanceof Promise)) continue;
      waits = true;
      await result;
    }
    const elapsedMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    if (round === 0) continue;
    times.push(1_000 * elapsedMs / count);
    cpuTimes.push((user + system) / count);
  }
  print(name, `${median(times).toFixed(1)} µs${waits ? `, of CPU ${median(cpuTimes).toFixed(1)} µs` : ""}`);
}

await using testDatabase = await createTestDatabase();
await testDatabase.query(itemsTable);
await using pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
using guard = await createCheckScheduler();
const database = createDatabase({
  options: databaseOptions(testDatabase.url),
  pools,
  guard,
  logger: silentLogger,
});
const principal = { kind: "token", id: "bench" } as const;
const { signal } = new AbortController();
const statements = { "SELECT 1": "SELECT 1", "100 rows": "SELECT * FROM items ORDER BY id LIMIT 100" };
const read = (sql: string) => database.read({ principal, sql, signal, maxRows: 100, offset: 0 });

const body = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "query_database", arguments: { query: statements["100 rows"] } },
});
await stage("body: its bounds, JSON", () => findExcess(body) ?? JSON.parse(body));

const { token, record } = createToken({ id: "bench", note: "", expiry: "never", now: Date.now() });
using sessions = createSessions({ lifetimeMs: 60_000, now: Date.now });
const authenticator = createAuthenticator({ tokens: createTokenIndex([record]), sessions, now: Date.now });
await stage("token: who is calling", () => authenticator.authenticate(`Bearer ${token}`));

const alone = await createStatementGuard();
for (const [name, sql] of Object.entries(statements)) {
  await stage(`guard: ${name}, for the first time`, () => alone.check(sql));
}
await stage("guard: known", () => guard.check(statements["100 rows"], { principal, signal }));

const tool = queryDatabase({ directory: createDatabaseDirectory([]), guard });
await stage("arguments: checked", () => tool.prepare({ query: "SELECT 1" }));

for (const [name, sql] of Object.entries(statements)) {
  await stage(`PostgreSQL: ${name}, one at a time`, () => read(sql));
}
for (const [name, sql] of Object.entries(statements)) {
  const result = await read(sql);
  if (!result.ok) throw new Error(result.error.message);
  const question = { text: sql, database, offset: 0 };
  const { text, data } = rowsReply(question, { kind: "rows", sql, result });
  await stage(
    `rows: ${name}, for models and for programs`,
    () => rowsReply(question, { kind: "rows", sql, result }),
  );
  const reply = {
    jsonrpc: "2.0",
    id: 1,
    result: { content: [{ type: "text", text }], structuredContent: data },
  } as const;
  await stage(`reply: ${name}, JSON and response`, () => jsonRpcReply(200, reply));
}
