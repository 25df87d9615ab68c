import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createConfigFolder } from "../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  testWithPgvectorServer,
} from "../support/database.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";
import { artefact, packaging, readYaml, succeed } from "../packaging/artefacts.ts";
import { testWithPrograms } from "../support/programs.ts";

const { services } = z.looseObject({
  services: z.record(z.string(), z.looseObject({ command: z.array(z.string()).optional() })),
}).parse(readYaml(await artefact("docker/compose.yaml")));

/** The two roles of a test's own; every role of a server is seen by all databases. */
function createRoleNames() {
  const id = randomBytes(4).toString("hex");
  const names = { postern_owner: `postern_owner_${id}`, postern_reader: `postern_reader_${id}` };
  return {
    rename: (text: string) =>
      Object.entries(names).reduce((result, [from, to]) => result.replaceAll(from, to), text),
    async [Symbol.asyncDispose]() {
      for (const name of Object.values(names)) {
        await runSql(requireTestDatabaseUrl(), `DROP ROLE IF EXISTS ${name}`);
      }
    },
  };
}

// there is no container engine in the tests: the same scripts, configuration and command lines, in the same order
testWithPrograms(
  ["psql"],
  "compose.yaml's scripts and command lines lead to answers from the handbook",
  async () => {
    const { hostname, port, username } = new URL(requireTestDatabaseUrl());
    await using roles = createRoleNames();
    await using database = await createTestDatabase();
    const config = roles.rename(await artefact("docker/compose_config.yaml"))
      .replaceAll(
        "host: database, database: handbook",
        `host: ${hostname}, port: ${port}, database: ${database.name}`,
      )
      .replaceAll("/srv/handbook", fileURLToPath(new URL("../src/demo/handbook", packaging)));
    await using folder = await createConfigFolder(config.replaceAll("/var/lib/postern/", ""));
    const passwords = `${folder.path}/passwords`;
    await Deno.mkdir(passwords);

    const makePasswords = roles.rename(await artefact("docker/make_passwords.sh"))
      .replaceAll(/\/run\/(database|postern)-passwords/g, passwords);
    // the users of the images are not those of this machine
    const make = () => succeed("bash", ["-c", `chown() { :; }\n${makePasswords}`]);
    await make();
    const passFile = await Deno.readTextFile(`${passwords}/pgpass`);
    assert.match(passFile, /^(database:5432:\*:postern_(owner|reader)_\w+:[\w-]{32}\n){2}$/);
    await make();
    assert.equal(await Deno.readTextFile(`${passwords}/pgpass`), passFile);

    await succeed("bash", ["-c", roles.rename(await artefact("docker/make_roles.sh"))], {
      ...{ PASSWORDS: passwords, PGHOST: hostname, PGPORT: port },
      ...{ POSTGRES_USER: username, POSTGRES_DB: database.name },
    });
    for (const name of ["ingest", "index"]) {
      const command = (services[name]?.command ?? []).map(roles.rename);
      const { code, stderr } = await runProgram(["-config", folder.configFile, ...command]);
      assert.equal(code, 0, stderr);
    }

    const { token } = await folder.addToken();
    const servers = ["tools", "rag"].flatMap((name) => services[name]?.command ?? []);
    const here = ["-addr", "127.0.0.1:0", "-rag-listen", "127.0.0.1", "-rag-port", "0"];
    await using server = await startServer([...servers, ...here, "-config", folder.configFile]);
    const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
    await waitUntil("both servers listen", () => urls().length === 2);
    const [ragUrl = "", toolsUrl = ""] = urls();
    const reply = await fetch(`${ragUrl}/v1/pipelines/handbook`, {
      method: "POST",
      body: JSON.stringify({ query: "How many days of annual leave do I get?", include_sources: true }),
    });
    assert.equal(reply.status, 200);
    assert.match(await reply.text(), /28 days of annual leave/);
    const { post } = createToolClient({ url: toolsUrl, token });
    const called = await post(JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "query_database", arguments: { query: "SELECT count(*) > 50 AS many FROM pages" } },
    }));
    assert.match(await called.text(), /many\\nt/);
  },
  testWithPgvectorServer,
);
