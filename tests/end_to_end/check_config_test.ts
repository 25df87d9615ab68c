import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { configSchema } from "../../src/config/schema/config_schema.ts";
import { pathFields } from "../../src/config/schema/field_types.ts";
import { leafSchemas, writtenSchema } from "../../src/config/schema/schema_walk.ts";
import { serve, writeUsers } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { formatPath, putValue, type ValueMap } from "../../src/core/yaml/value_tree.ts";

const check = async (file: string, ...flags: string[]) => await runProgram(["-check-config", file, ...flags]);

Deno.test("-check-config tells all faults and what is not used, with their lines, and exits with 1", async () => {
  await using folder = await createConfigFolder(`
secret_file: /etc/pgedge/secret
databases:
  - { name: a, hosst: db.example, port: many }
  - { name: a, host: 127.0.0.1 }
pipelines:
  - { name: docs, top_n: 1000 }
`);
  const { code, stdout, stderr } = await check(folder.configFile);
  assert.deepEqual([code, stderr], [1, ""]);
  const lines = stdout.trimEnd().split("\n");
  const errors = lines.filter((line) => line.startsWith("ERROR   "));
  assert.ok(
    errors.some((line) => /line 4, .*databases\[0\]\.hosst: .*did you mean "host"/.test(line)),
    stdout,
  );
  assert.ok(errors.some((line) => /line 4, .*databases\[0\]\.port/.test(line)), stdout);
  assert.ok(errors.some((line) => /line 5, .*databases\[1\]\.name/.test(line)), stdout);
  assert.ok(lines.some((line) => /^WARNING secret_file \(line 2\) is not used/.test(line)), stdout);
  assert.ok(
    lines.some((line) => /^WARNING pipelines\[0\]\.top_n \(line 7\): 1000 is lowered/.test(line)),
    stdout,
  );
  assert.match(lines.at(-1) ?? "", /config\.yaml cannot be used: \d errors, 2 warnings$/);
  const { faults, warnings } = JSON.parse((await check(folder.configFile, "-json")).stdout);
  assert.equal(faults.length, errors.length);
  assert.equal(warnings.length, 2);
  assert.deepEqual(Object.keys(faults[0]), ["path", "line", "column", "message", "suggestion"]);
});

Deno.test("-check-config takes a file that a server would start with, and asks no database", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let isAsked = false;
  database.accept().then(() => isAsked = true, () => {});
  await using folder = await createConfigFolder(
    `databases: [{ name: main, host: 127.0.0.1, port: ${database.addr.port}, user: u, database: d }]\n`,
  );
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /config\.yaml can be used: no errors, no warnings\n$/);
  assert.equal(isAsked, false);
});

Deno.test("-check-config finds what a start would refuse besides the file's own text", async () => {
  await using folder = await createConfigFolder(`
data_dir: data
audit: { file: absent/audit.jsonl }
http: { enabled: true, tls: { enabled: true, cert_file: absent.crt, key_file: absent.key } }
`);
  await Deno.writeTextFile(join(folder.path, "tokens.yaml"), "people: {}\n");
  await Deno.mkdir(join(folder.path, "data"));
  const state = new DatabaseSync(join(folder.path, "data", "state.sqlite"));
  state.exec("PRAGMA user_version = 7");
  state.close();
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 1);
  const told = stdout.match(/^ERROR .*$/gm) ?? [];
  assert.equal(told.length, 4, stdout);
  assert.match(stdout, /audit\.file: cannot use .*absent.audit\.jsonl: its folder does not exist; make it/);
  assert.match(
    stdout,
    /http\.tls\.cert_file .*absent\.crt: there is .*; .*key_file .*absent\.key: there is no/,
  );
  assert.match(stdout, /tokens\.yaml/);
  assert.match(
    stdout,
    /state\.sqlite: a newer version of Postern wrote it \(layout 7; .*\); run that version/,
  );
});

Deno.test("-check-config warns of files with secrets that are not there, once each", async () => {
  await using folder = await createConfigFolder(`
databases: [{ name: a, password_file: db }, { name: b, password_file: db }, { name: c, password_file: there }]
http:
  auth:
    identity_provider:
      issuer: https://login.example.com
      audience: a
      introspection: { client_id: postern, client_secret_file: issuer }
pipelines:
  - name: docs
    database: { database: a }
    tables: [{ table: docs, text_column: content, vector_column: embedding }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    sources: [{ git: { url: "https://git.example.com/docs.git", token_file: git } }]
`);
  await Deno.writeTextFile(join(folder.path, "there"), "secret");
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.match(/^WARNING .*there is no.*$/gm)?.map((line) => line.replaceAll(folder.path, "")),
    [
      "WARNING http.auth.identity_provider.introspection.client_secret_file: there is no file /issuer",
      "WARNING databases[0].password_file: there is no file /db",
      "WARNING pipelines[0].sources[0].git.token_file: there is no file /git",
    ],
  );
});

Deno.test("-check-config and a start warn of administrators of the console without an account", async () => {
  await using folder = await createConfigFolder(`
http: { enabled: true, address: "127.0.0.1:0" }
databases: []
console: { administrators: [alice, malice] }
`);
  const told =
    /console\.administrators names "malice", who has no account in .*users\.yaml: -add-user makes one/;
  await writeUsers(folder, ["alice"]);
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 0);
  const warnings = stdout.match(/^WARNING .*administrators.*$/gm) ?? [];
  assert.equal(warnings.length, 1, stdout);
  assert.match(warnings[0] ?? "", told);
  await using server = await serve(folder);
  assert.match(server.stderr(), told);
  // where nobody is asked for a token, everyone is one
  assert.doesNotMatch((await check(folder.configFile, "-no-auth")).stdout, /administrators/);
  // a file that cannot be read has a fault of its own
  await Deno.writeTextFile(join(folder.path, "users.yaml"), "people: {}\n");
  assert.doesNotMatch((await check(folder.configFile)).stdout, /administrators/);
});

Deno.test("-check-config checks what a start of both servers would check", async () => {
  await using folder = await createConfigFolder(`
http: { auth: { oauth: { issuer: "https://mcp.example.com" } } }
server: { auth: { enabled: true }, client_ip: { header: X-Forwarded-For, trusted_proxies: [10.0.0.1] } }
data_dir: .
`);
  const faultsOf = async (...flags: string[]) => {
    const { code, stdout } = await check(folder.configFile, ...flags);
    assert.equal(code, /^ERROR/m.test(stdout) ? 1 : 0, stdout);
    return (stdout.match(/^ERROR .*$/gm) ?? []).map((line) =>
      /(http|server|data_dir)[\w.]*(?=:)/.exec(line)?.[0] ?? line
    );
  };
  assert.deepEqual(await faultsOf(), []);
  assert.deepEqual(await faultsOf("-rag"), []);
  assert.deepEqual(await faultsOf("-http"), []);
  const both = ["-http", "-rag"];
  assert.deepEqual(await faultsOf(...both), ["server.resource_url", "server.address"]);
  assert.deepEqual(await faultsOf(...both, "-rag-port", "8081"), ["server.resource_url"]);
  const started = await runProgram([...both, "-config", folder.configFile]);
  assert.equal(started.code, 1);
  assert.match(started.stderr, /server\.resource_url[^]*server\.address/);
});

Deno.test("-check-config says where there is no file", async () => {
  const { code, stdout } = await check("/nowhere/config.yaml");
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^ERROR {3}there is no such file\n\/nowhere\/config\.yaml cannot be used: 1 error, no warnings\n$/,
  );
  await using folder = await createConfigFolder("");
  assert.match((await check(folder.path)).stdout, /^ERROR {3}it is a folder; name the file in it\n/);
});

Deno.test("an empty file is refused, by -check-config as by a start, unless variables say what to read", async () => {
  await using folder = await createConfigFolder("");
  await folder.write(" \n");
  const expected = /it is empty; -init writes one/;
  const checked = await check(folder.configFile);
  assert.deepEqual([checked.code, expected.test(checked.stdout)], [1, true], checked.stdout);
  const started = await runProgram(["-config", folder.configFile]);
  assert.deepEqual([started.code, expected.test(started.stderr)], [1, true], started.stderr);
  const flags = ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile];
  await using server = await startServer(flags, { env: { POSTERN_DB_HOST: "/nowhere" } });
  assert.equal((await fetch(`${server.url}/health`)).status, 200);
  await server.stop();
  assert.doesNotMatch(server.stderr(), /Failed to reload/);
  await folder.write("log: { level: info }\n");
  assert.match(
    (await check(folder.configFile)).stdout,
    /^WARNING The configuration names neither a database nor a/,
  );
  const { code, stdout } = await runProgram(["-doctor", "-config", folder.configFile]);
  assert.equal(code, 1);
  assert.match(stdout, /ERROR {3}databases: The configuration names neither a database nor a pipeline/);
});

Deno.test("-check-config says what another file of Postern's is, and checks it as that", async () => {
  await using folder = await createConfigFolder("");
  await folder.addToken();
  const tokens = await check(folder.tokenFile);
  assert.equal(tokens.code, 0);
  assert.match(tokens.stdout, /tokens\.yaml is a token file, .* \(1 token\); it can be used: no errors/);
  const other = join(folder.path, "other.yaml");
  await Deno.writeTextFile(other, "users: { bob: { pasword_hash: x } }\n");
  const users = await check(other);
  assert.equal(users.code, 1);
  assert.match(users.stdout, /^ERROR .*bob[^]*other\.yaml is a user file, .*; it cannot be used: 2 errors/);
  await Deno.writeTextFile(
    other,
    "questions:\n  - { question: number of orders, sql: SELECT 1 }\n  - { question: drop it, sql: DROP TABLE a }\n",
  );
  const definitions = await check(other);
  assert.equal(definitions.code, 1);
  assert.match(
    definitions.stdout,
    /^ERROR {3}line 3, .*questions\[1\]\.sql: DROP is not a read.*\n.*is a definitions file, .* 1 question, .*1 error/,
  );
});

Deno.test("each setting that is a path is named with what is wrong with its file or folder", async () => {
  await using folder = await createConfigFolder("");
  const settings = [...leafSchemas(configSchema)].flatMap(([path, schema]) =>
    // a configuration without pipelines drops theirs
    pathFields.has(writtenSchema(schema)) && !/^(api_keys|defaults|pipelines)$/.test(String(path[0])) &&
      // a folder or a file, and what stands in place of another
      !["model_path", "private_key_file"].includes(String(path.at(-1)))
      ? [path]
      : []
  );
  assert.ok(settings.length > 20);
  const written: ValueMap = {};
  // a database is embedded or has a password
  putValue(written, ["databases"], [{ name: "a", sslmode: "require" }, { name: "b" }]);
  putValue(written, ["state"], { database: "shared", host: "state.example", sslmode: "require" });
  putValue(written, ["traces", "endpoint"], "https://collector.example");
  putValue(written, ["http"], {
    tls: { enabled: true },
    auth: {
      oauth: { issuer: "https://a.example", login: { issuer: "https://b.example", client_id: "a" } },
    },
  });
  putValue(written, ["server"], { address: ":1", tls: { enabled: true }, auth: { enabled: true } });
  const expected = await Promise.all(settings.map(async (path, at) => {
    const wrong = join(folder.path, `wrong${at}`);
    const wantsFolder = /^(data_dir|embedded|ingest_folder|library_path)$/.test(String(path.at(-1)));
    await (wantsFolder ? Deno.writeTextFile(wrong, "") : Deno.mkdir(wrong));
    const own = path.at(-1) === "embedded" ? path.with(1, 1) : path;
    putValue(written, own, wrong);
    return `${formatPath(own)} ${wrong}`;
  }));
  await folder.write(JSON.stringify(written));
  const { code, stdout } = await check(folder.configFile, "-http", "-rag");
  assert.equal(code, 1);
  const told = stdout.replaceAll(": cannot use /", " /");
  assert.deepEqual(expected.filter((each) => !told.includes(`${each}: it is `)), [], stdout);
  await folder.write(`data_dir: ${join(folder.configFile, "data")}\n`);
  const { stderr } = await runProgram(["-config", folder.configFile]);
  assert.match(
    stderr,
    /postern: data_dir: cannot use .*\/data: .*config\.yaml is a file; name another place\n$/,
  );
});
