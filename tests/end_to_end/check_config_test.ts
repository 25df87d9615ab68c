import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram } from "../support/server_process.ts";

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
  const history = new DatabaseSync(join(folder.path, "data", "turns.sqlite"));
  history.exec("PRAGMA user_version = 7");
  history.close();
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 1);
  const told = stdout.match(/^ERROR .*$/gm) ?? [];
  assert.equal(told.length, 4, stdout);
  assert.match(stdout, /Cannot write .*absent.audit\.jsonl: its folder does not exist/);
  assert.match(
    stdout,
    /http\.tls\.cert_file .*absent\.crt: there is .*; .*key_file .*absent\.key: there is no/,
  );
  assert.match(stdout, /tokens\.yaml/);
  assert.match(
    stdout,
    /turns\.sqlite: a newer version of Postern wrote it \(layout 7; .*\); run that version/,
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
`);
  await Deno.writeTextFile(join(folder.path, "there"), "secret");
  const { code, stdout } = await check(folder.configFile);
  assert.equal(code, 0);
  assert.deepEqual(stdout.match(/^WARNING .*$/gm)?.map((line) => line.replaceAll(folder.path, "")), [
    "WARNING databases[0].password_file: there is no file /db",
    "WARNING http.auth.identity_provider.introspection.client_secret_file: there is no file /issuer",
  ]);
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
