import assert from "node:assert/strict";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { join } from "node:path";
import { assertHas } from "../../../support/assert_has.ts";
import {
  createConfigFolder,
  databaseEntry,
  startConfiguredServer,
} from "../../../support/configured_server.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../../support/database.ts";
import { commandLine, runProgram } from "../../../support/server_process.ts";
import { connectTaskClient, type TaskClient } from "../../../support/task_client.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

/** Longer than a call is waited for, and shorter than a statement may take. */
const slow = (name: string) => `SELECT 'done' AS ${name} FROM pg_sleep(12)`;
const endless = (name: string) => `SELECT 'done' AS ${name} FROM pg_sleep(25)`;

async function isRunning(database: TestDatabase, name: string): Promise<boolean> {
  const sql =
    `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%AS ${name} FROM%' AND pid <> pg_backend_pid() ` +
    "AND state = 'active'";
  return (await database.query(sql)).length > 0;
}

/** One task is polled to its end and one is cancelled. */
async function drive(caller: TaskClient, database: TestDatabase, name: string): Promise<void> {
  const query = (sql: string) => caller.begin("query_database", { query: sql });
  const [polled, cancelled] = await Promise.all([
    query(slow(`polled_${name}`)),
    query(endless(`cut_${name}`)),
  ]);
  assert.ok(await isRunning(database, `cut_${name}`));
  await caller.cancel(cancelled.taskId);
  assertHas(await caller.ended(cancelled.taskId), { status: "cancelled" });
  await waitUntil("the statement is cancelled", async () => !await isRunning(database, `cut_${name}`));
  assertHas(await caller.ended(polled.taskId), {
    status: "completed",
    result: { structuredContent: { rows: [["done"]], row_count: 1 } },
  });
}

testWithPostgres("statements that take long become tasks, over HTTP and stdio", async () => {
  await using database = await createTestDatabase();
  const config = `databases: [${databaseEntry("main", database.name)}]`;
  await using running = await startConfiguredServer(`${config}\naudit: { file: audit.jsonl }`);
  await using folder = await createConfigFolder(config);
  const { server, token } = running;
  const other = await running.folder.addToken();
  const leaving = await running.folder.addToken();
  for (const { token } of [other, leaving]) {
    const client = createToolClient({ url: server.url, token });
    await waitUntil(
      "the token is known",
      async () => (await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).ok,
    );
  }
  const overHttp = (token: string) =>
    connectTaskClient(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/v1`), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    );
  const overStdio = () =>
    connectTaskClient(
      new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "pipe" }),
    );

  async function endToken(): Promise<void> {
    await using caller = await overHttp(leaving.token);
    await caller.begin("query_database", { query: endless("left") });
    assert.ok(await isRunning(database, "left"));
    const { code } = await runProgram(["-config", running.folder.configFile, "-remove-token", leaving.id]);
    assert.equal(code, 0);
    await waitUntil(
      "the statement of a token that has ended is cancelled",
      async () => !await isRunning(database, "left"),
    );
  }
  async function askForOthers(): Promise<void> {
    await using mine = await overHttp(token);
    await using theirs = await overHttp(other.token);
    const { taskId } = await mine.begin("query_database", { query: slow("mine") });
    for (const ask of [theirs.get, theirs.cancel]) {
      await assert.rejects(ask(taskId), { code: -32602, message: /Cannot find the task/ });
    }
    assertHas(await mine.ended(taskId), { status: "completed" });
  }
  async function driveOver(connect: () => Promise<TaskClient>, name: string): Promise<void> {
    await using caller = await connect();
    await drive(caller, database, name);
  }
  await Promise.all([
    driveOver(() => overHttp(token), "http"),
    driveOver(overStdio, "stdio"),
    endToken(),
    askForOthers(),
  ]);
  // each call has its line, with the address of a request that is long over
  const readLines = async () =>
    (await Deno.readTextFile(join(running.folder.path, "audit.jsonl"))).split("\n").slice(0, -1)
      .map((line) => JSON.parse(line)).filter(({ event }) => event === "tool_call");
  // the token that has ended waits for no answer
  await waitUntil("all lines are there", async () => (await readLines()).length >= 4);
  const lines = await readLines();
  assert.deepEqual(lines.map((line) => line.outcome).sort(), ["failed", "failed", "ok", "ok"]);
  assert.ok(lines.every(({ address }) => address === "127.0.0.1"), JSON.stringify(lines));
});
