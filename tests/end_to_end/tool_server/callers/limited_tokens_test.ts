import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { runProgram, startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";

const listTools = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

testWithPostgres("a token that may do one thing sees nothing else, and nothing from elsewhere", async (t) => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`audit: { file: audit.jsonl }
http: { client_ip: { header: X-Forwarded-For, trusted_proxies: [127.0.0.1] } }
databases:
  - ${databaseEntry("open", database.name)}
  - ${databaseEntry("other", database.name)}
`);
  const add = (...flags: string[]) =>
    runProgram(["-config", folder.configFile, "-add-token", "-json", ...flags]);
  const limits = ["-token-tools", "query_database", "-token-databases", "other"];
  const { stdout } = await add(...limits, "-token-networks", "192.0.2.0/24");
  const { id, token } = JSON.parse(stdout);
  const free = await folder.addToken();
  const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  await using _server = server;
  const client = createToolClient({ url: server.url, token });
  const from = (address: string) => ({ headers: { "x-forwarded-for": address } });
  const here = from("192.0.2.7");

  await t.step("lists have what it may use alone", async () => {
    const { result: { tools } } = await client.request("tools/list", {}, here);
    assert.deepEqual(tools.map(({ name }: { name: string }) => name), ["query_database"]);
    const { result: { resources } } = await client.request("resources/list", {}, here);
    assert.deepEqual(resources.filter(({ uri }: { uri: string }) => !uri.startsWith("ui:")), []);
    assert.deepEqual(
      (await client.request("resources/templates/list", {}, here)).result.resourceTemplates,
      [],
    );
    assert.deepEqual((await client.request("prompts/list", {}, here)).result.prompts, []);
  });

  await t.step("what it may not use does not exist for it", async () => {
    const errorOf = async (method: string, params: Record<string, unknown>) =>
      (await client.request(method, params, here)).error;
    const hidden = await errorOf("tools/call", { name: "list_databases", arguments: {} });
    const missing = await errorOf("tools/call", { name: "zzz_databases", arguments: {} });
    assert.deepEqual(hidden, { ...missing, message: missing.message.replace("zzz", "list") });
    const unread = await errorOf("resources/read", { uri: "pg://databases" });
    const unknown = await errorOf("resources/read", { uri: "pg://databasez" });
    assert.equal(unread.code, unknown.code);
    const denied = await client.call("query_database", { query: "SELECT 1", database: "open" }, here);
    const gone = await client.call("query_database", { query: "SELECT 1", database: "zzzz" }, here);
    assert.equal(denied.text, gone.text.replace("zzzz", "open"));
    const answered = await client.call("query_database", { query: "SELECT 42 AS x" }, here);
    assert.match(answered.text, /42/);
  });

  await t.step("from another network it is refused as an unknown token is", async () => {
    const answerOf = async (bearer: string, address: string) => {
      const response = await createToolClient({ url: server.url, token: bearer }).post(
        listTools,
        from(address),
      );
      return [response.status, response.headers.get("www-authenticate"), await response.text()];
    };
    const refused = await answerOf(token, "198.51.100.1");
    assert.equal(refused[0], 401);
    assert.deepEqual(refused, await answerOf("pst_unknown", "198.51.100.1"));
    // what a client itself writes to the left of its proxy's entry counts for nothing
    assert.deepEqual(refused, await answerOf(token, "192.0.2.7, 198.51.100.1"));
    assert.equal((await answerOf(free.token, "198.51.100.1"))[0], 200);
  });

  assert.equal(await server.stop(), 0);
  assert.match(
    server.stderr(),
    new RegExp(
      `WARN +A token was refused: it may not come from this network address=198.51.100.1 principal=token:${id}`,
    ),
  );
  const lines = (await Deno.readTextFile(`${folder.path}/audit.jsonl`)).trim().split("\n");
  const refusals = lines.map((line) => JSON.parse(line)).filter(({ principal }) =>
    principal === `token:${id}`
  );
  const found = refusals.map((line) => [line.event, line.outcome, line.address]);
  assert.deepEqual(found.find(([event]) => event === "refusal"), [
    "refusal",
    "token_of_other_network",
    "198.51.100.1",
  ]);
});

Deno.test("a limit to what there is not is refused by name, and -check-token tells what a token may reach", async (t) => {
  await using folder = await createConfigFolder(`databases: [
  { name: open, host: 127.0.0.1, port: 1, database: none },
  { name: hers, host: 127.0.0.1, port: 1, database: none, available_to_users: [alice] }
]
custom_definitions_path: own.yaml
`);
  const definitions = `${folder.path}/own.yaml`;
  await Deno.writeTextFile(definitions, "tools: [{ name: own_report, description: x, sql: SELECT 1 }]\n");
  const run = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
  const add = (...flags: string[]) => run("-add-token", "-json", ...flags);
  const checkOf = async (token: string) => {
    const file = `${folder.path}/token`;
    await Deno.writeTextFile(file, `${token}\n`, { mode: 0o600 });
    const { code, stdout } = await run("-doctor", "-check-token", file);
    assert.ok(!stdout.includes(token));
    return `${code} ${stdout}`;
  };

  await t.step("a tool of the definitions file too", async () => {
    const refused = await add("-token-tools", "own_reprot");
    assert.deepEqual([refused.code, /to tools "own_reprot": expected .*own_report/.test(refused.stderr)], [
      1,
      true,
    ]);
    const none = await add("-token-pipelines", "docs");
    assert.deepEqual([none.code, /to pipelines "docs": the configuration has none/.test(none.stderr)], [
      1,
      true,
    ]);
    const { token, id } = JSON.parse(
      (await add("-token-tools", "own_report,usage", "-token-networks", "10.0.0.0/8")).stdout,
    );
    const told = await checkOf(token);
    assert.match(told, new RegExp(`^0 [^]*it lets in ${id}\\n`));
    assert.match(
      told,
      /databases: open; pipelines: none; tools: own_report, usage; networks: 10\.0\.0\.0\/8\n/,
    );
    const bound = JSON.parse((await add("-token-database", "hers")).stdout);
    assert.match(await checkOf(bound.token), /databases: hers; pipelines: none; tools: all; networks: all\n/);
  });

  await t.step("unless that cannot be read", async () => {
    await Deno.writeTextFile(definitions, "tools: {");
    const { code, stderr } = await add("-token-tools", "own_report");
    assert.deepEqual(
      [code, /limited to tools "own_report"; which there are could not be read/.test(stderr)],
      [0, true],
    );
  });

  await t.step("a token that there is not, or no more, lets nobody in", async () => {
    assert.match(await checkOf(`pst_${"a".repeat(43)}`), /^1 [^]*It is not in the file/);
    const { token } = JSON.parse((await add("-token-expiry", "1s")).stdout);
    const tokens = await Deno.readTextFile(folder.tokenFile);
    await Deno.writeTextFile(
      folder.tokenFile,
      tokens.replace(/expires_at: 2.*/, "expires_at: 2020-01-01T00:00:00Z"),
    );
    assert.match(await checkOf(token), /^1 [^]*It has ended/);
  });
});
