import assert from "node:assert/strict";
import { join } from "node:path";
import { logIn, serve, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  testDatabaseUrl,
  testWithPostgres,
} from "../../support/database.ts";
import { command, type ServerProcess } from "../../support/server_process.ts";
import { startSeverableProxy } from "../../support/network/severable_proxy.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

/** The log's lines that hold a text, without the time. */
function linesWith(server: Pick<ServerProcess, "stderr">, text: string): string[] {
  return server.stderr().split("\n").filter((line) => line.includes(text)).map((line) => line.slice(25));
}

Deno.test("requests without a valid token give a line per address, which counts the others and shows no token", async () => {
  await using running = await startConfiguredServer("");
  const { server } = running;
  for (let n = 0; n < 50; n++) {
    const { post } = createToolClient({ url: server.url, token: `wrong-token-of-caller-${n}` });
    const response = await post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    assert.equal(response.status, 401);
    await response.body?.cancel();
  }
  const line = "INFO  A request was refused: it has no valid token address=127.0.0.1";
  await waitUntil("the first is logged", () => linesWith(server, "was refused").length > 0);
  assert.deepEqual(linesWith(server, "was refused"), [line]);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(linesWith(server, "was refused"), [line, `${line} left_out=48`]);
  assert.doesNotMatch(server.stderr(), /wrong-token/);
});

Deno.test("failed and refused logins are logged once per address, without what was typed", async () => {
  await using folder = await createConfigFolder("http: { auth: { rate_limit_max_attempts: 3 } }");
  await writeUsers(folder, ["alice"]);
  await using server = await serve(folder);
  await logIn(server, "alice", "not her password");
  await logIn(server, "typed-into-the-name-field", "not her password");
  await logIn(server, "evil\n\u001b[2J", "not her password");
  for (let n = 0; n < 4; n++) assert.equal((await logIn(server, "alice")).status, 429);
  await waitUntil("the limit is logged", () => linesWith(server, "too many have failed").length > 0);
  await server.stop();
  assert.deepEqual(linesWith(server, "ogin").filter((line) => line.startsWith("WARN")), [
    "WARN  A login failed address=127.0.0.1 user=alice reason=wrong_password",
    "WARN  Logins from one address are refused: too many have failed address=127.0.0.1",
    "WARN  A login failed address=127.0.0.1 reason=unknown_user left_out=1",
    "WARN  Logins from one address are refused: too many have failed address=127.0.0.1 left_out=2",
  ]);
  assert.doesNotMatch(server.stderr(), /not her password|typed-into|evil/);
});

testWithPostgres(
  "statements that failed are logged and audited with their SQLSTATE, without their text",
  async () => {
    await using database = await createTestDatabase();
    await using folder = await createConfigFolder("");
    const auditFile = join(folder.path, "audit.jsonl");
    const entries = [
      databaseEntry("main", database.name, "statement_timeout: 200ms,"),
      databaseEntry("absent", "no_such_database"),
    ];
    await using running = await startConfiguredServer(
      `databases: [${entries.join()}]\naudit: { file: ${auditFile} }`,
    );
    const { server, client } = running;
    const query = (sql: string) => client.call("query_database", { query: sql });
    await query("SELECT 'my-literal'::int");
    for (let n = 0; n < 5; n++) await query("SELECT 'my-literal' FROM absent_table");
    await client.call("count_rows", { table: "absent_table" });
    await query("SELECT count(*) FROM generate_series(1, 100000000000)");
    await query("DELETE FROM pg_class");
    await client.call("execute_explain", { query: "SELECT 1/0" });
    for (let n = 0; n < 3; n++) await client.call("get_schema_info", { database: "absent" });
    await query("SELECT 'fine'");
    await server.stop();
    const lines = linesWith(server, "A statement ").map((line) =>
      line.replace(/elapsed_ms=\d+/, "elapsed_ms=N").replace(/request=\S+/, "request=N")
        .replace(/principal=token:token-\d+/, "principal=P")
    );
    const fields = (tool: string, what: string) =>
      `request=N tool=${tool} database=main ${what} address=127.0.0.1 principal=P elapsed_ms=N`;
    assert.deepEqual(lines, [
      `INFO  A statement failed ${fields("query_database", "sqlstate=22P02 outcome=failed")}`,
      `INFO  A statement failed ${fields("query_database", "sqlstate=42P01 outcome=failed")}`,
      `WARN  A statement failed ${fields("query_database", "sqlstate=57014 outcome=timeout")}`,
      `INFO  A statement was refused ${fields("query_database", "outcome=refused")}`,
      `INFO  A statement failed ${fields("execute_explain", "sqlstate=22012 outcome=failed")}`,
      `INFO  A statement failed ${fields("count_rows", "sqlstate=42P01 outcome=failed")} left_out=4`,
    ]);
    assert.doesNotMatch(server.stderr(), /my-literal|absent_table|pg_class/);
    const audited = (await Deno.readTextFile(auditFile)).trim().split("\n").map((line) => JSON.parse(line))
      .filter(({ event }) => event === "tool_call")
      .map((event) => [event.outcome, event.sqlstate, event.reason]);
    assert.deepEqual(audited, [
      ["failed", "22P02", "failed"],
      ...Array(6).fill(["failed", "42P01", "failed"]),
      ["failed", "57014", "timeout"],
      ["failed", undefined, "refused"],
      ["failed", "22012", "failed"],
      ...Array(3).fill(["failed", "3D000", "unavailable"]),
      ["ok", undefined, undefined],
    ]);
  },
);

testWithPostgres("a database that is gone and back gives one line each, not one per call", async () => {
  await using database = await createTestDatabase();
  const { hostname, port } = new URL(requireTestDatabaseUrl());
  await using proxy = await startSeverableProxy({ host: hostname, port: Number(port) });
  const entry = databaseEntry("main", database.name).replace(`port: ${port}`, `port: ${proxy.port}`);
  await using running = await startConfiguredServer(`databases: [${entry}]`);
  const { server, client } = running;
  const isAnswered = async () => !(await client.call("query_database", { query: "SELECT 1" })).isError;
  await waitUntil("the start has looked at it", () => linesWith(server, "is a superuser").length === 1);
  assert.ok(await isAnswered());
  await proxy.stop();
  for (let n = 0; n < 5; n++) assert.ok(!await isAnswered());
  await proxy.start();
  await waitUntil("it answers again", isAnswered);
  assert.ok(await isAnswered());
  await server.stop();
  const events = linesWith(server, "database=main").filter((line) => !line.includes("superuser"));
  assert.equal(events.length, 2, events.join("\n"));
  // a connection that a call has taken before the server hears of its end is lost, in the socket's own words
  assert.match(
    events[0] ?? "",
    /^WARN {2}(The database cannot be reached|A connection to the database was lost) database=main error="[^"]+"/,
  );
  assert.match(events[1] ?? "", /^INFO {2}The database can be reached again database=main after_s=\d+$/);
});

Deno.test("over stdio the lines go to standard error alone", async () => {
  await using folder = await createConfigFolder(
    testDatabaseUrl === undefined
      ? "databases: [{ name: main, host: 127.0.0.1, port: 1 }]"
      : `databases: [${databaseEntry("main", "postgres")}]`,
  );
  const child = command(["-config", folder.configFile], { stdin: "piped", stdout: "piped", stderr: "piped" })
    .spawn();
  const writer = child.stdin.getWriter();
  const send = (message: unknown) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message as object })}\n`));
  await send({
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });
  await send({ method: "notifications/initialized" });
  await send({
    id: 1,
    method: "tools/call",
    params: { name: "query_database", arguments: { query: "DELETE FROM pg_class" } },
  });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let replies = "";
  while (!replies.includes('"id":1')) replies += (await reader.read()).value ?? "";
  await writer.close();
  reader.releaseLock();
  const stderr = await new Response(child.stderr).text();
  assert.equal((await child.status).code, 0);
  for (const line of replies.trim().split("\n")) assert.equal(JSON.parse(line).jsonrpc, "2.0");
  assert.match(
    stderr,
    /INFO {2}A statement was refused tool=query_database database=main outcome=refused principal=local /,
  );
});
