import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { runProgram, startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";

testWithPostgres("the administrator's token operations, and the server that goes by them", async (t) => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`databases:
  - ${databaseEntry("open", database.name)}
  - ${databaseEntry("team", database.name, "available_to_users: [alice]")}
`);
  const config = ["-config", folder.configFile];

  await t.step("-add-token prints the token once, for people", async () => {
    const { code, stdout } = await runProgram([
      ...config,
      ...["-add-token", "-token-note", "Production API", "-token-database", "team", "-token-expiry", "30d"],
    ]);
    assert.equal(code, 0);
    assert.match(stdout, /pst_[A-Za-z0-9_-]{43}/);
    const file = await Deno.readTextFile(folder.tokenFile);
    assert.doesNotMatch(file, /pst_/);
    assert.match(file, /annotation: Production API/);
    assert.equal(((await Deno.stat(folder.tokenFile)).mode ?? 0) & 0o777, 0o600);
  });

  await t.step("-list-tokens -json lists what scripts rely on, and no secret", async () => {
    const { stdout } = await runProgram([...config, "-list-tokens", "-json"]);
    const [token] = JSON.parse(stdout);
    assert.deepEqual(Object.keys(token), [
      "id",
      "annotation",
      "database",
      "created_at",
      "expires_at",
      "status",
      "hash_prefix",
    ]);
    assert.deepEqual([token.annotation, token.database, token.status], ["Production API", "team", "valid"]);
    assert.match(token.hash_prefix, /^[0-9a-f]{8}$/);
  });

  await t.step("a database that the configuration does not name fails with 1", async () => {
    const { code, stderr } = await runProgram([...config, "-add-token", "-token-database", "nope"]);
    assert.equal(code, 1);
    assert.match(stderr, /^postern: Cannot limit a token to databases "nope"/);
  });

  await t.step(
    "a command line that cannot be understood exits 2 with one line that names the flag",
    async () => {
      for (
        const flags of [["-nope"], ["-addr"], ["-add-token", "-list-tokens"], [
          "-token-expiry",
          "1x",
          "-add-token",
        ]]
      ) {
        const { code, stdout, stderr } = await runProgram([...config, ...flags]);
        assert.equal(code, 2, flags.join(" "));
        assert.equal(stdout, "");
        assert.match(stderr, /^postern: [^\n]*-[a-z][^\n]*\n$/);
      }
    },
  );

  await t.step("-remove-token takes an id; the server accepts the tokens that are left", async () => {
    const kept = await folder.addToken({ note: "kept" });
    const bound = await folder.addToken({ database: "team" });
    const gone = await folder.addToken();
    const removed = await runProgram([...config, "-remove-token", gone.id]);
    assert.equal(removed.code, 0);
    assert.equal((await runProgram([...config, "-remove-token", gone.id])).code, 1);

    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", ...config]);
    const as = (token: string) => createToolClient({ url: server.url, token });
    const response = await as(gone.token).post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    assert.equal(response.status, 401);
    await response.body?.cancel();
    assert.deepEqual((await as(kept.token).call("list_databases", {})).data, {
      databases: [{ name: "open", current: true }],
      current: "open",
    });
    assert.deepEqual((await as(bound.token).call("list_databases", {})).data, {
      databases: [{ name: "team", current: true }],
      current: "team",
    });
    const foreign = await as(kept.token).call("query_database", { query: "SELECT 1", database: "team" });
    const missing = await as(kept.token).call("query_database", { query: "SELECT 1", database: "none" });
    assert.equal(foreign.text.replace("team", "NAME"), missing.text.replace("none", "NAME"));
  });
});

Deno.test("a token file that does not parse stops the start with its line", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await Deno.writeTextFile(folder.tokenFile, "tokens:\n  a:\n    hash: [\n", { mode: 0o600 });
  const { code, stderr } = await runProgram(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  assert.equal(code, 1);
  assert.match(stderr, /tokens\.yaml.*line \d/);
});

Deno.test("a token file that others can read draws the warning with the command to run", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await Deno.writeTextFile(folder.tokenFile, "tokens: {}\n");
  await Deno.chmod(folder.tokenFile, 0o644);
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  assert.match(server.stderr(), /WARN .*chmod 600 .*tokens\.yaml/);
});

Deno.test("a server that lets everyone in refuses an address that others reach, unless told twice", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  const open = ["-http", "-no-auth", "-config", folder.configFile];
  const refused = await runProgram([...open, "-addr", "0.0.0.0:0"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /-allow-insecure/);
  await using server = await startServer([...open, "-addr", "127.0.0.1:0"]);
  const { request } = createToolClient({ url: server.url });
  assert.deepEqual((await request("ping", {})).result, {});
});
