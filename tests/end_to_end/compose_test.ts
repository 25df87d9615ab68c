import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { logIn, writeUsers } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  testWithPgvectorServer,
} from "../support/database.ts";
import { command, runProgram, startServer } from "../support/server_process.ts";
import { startNginx } from "../support/network/nginx.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";
import { artefact, packaging, readCompose, succeed } from "../packaging/artefacts.ts";
import { findProgram, testWithPrograms } from "../support/programs.ts";

const composeFile = z.looseObject({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).optional(),
      deploy: z.object({ replicas: z.number() }).optional(),
    }),
  ),
});
const { services } = composeFile.parse(await readCompose("compose.yaml"));
const replicas = composeFile.parse(await readCompose("compose.yaml", "compose_replicas.yaml")).services;

/** The three roles of a test's own; every role of a server is seen by all databases. */
function createRoleNames() {
  const id = randomBytes(4).toString("hex");
  const names = {
    postern_owner: `postern_owner_${id}`,
    postern_reader: `postern_reader_${id}`,
    postern_state: `postern_state_${id}`,
  };
  return {
    names,
    rename: (text: string) =>
      Object.entries(names).reduce((result, [from, to]) => result.replaceAll(from, to), text),
    async [Symbol.asyncDispose]() {
      for (const name of Object.values(names)) {
        await runSql(requireTestDatabaseUrl(), `DROP ROLE IF EXISTS ${name}`);
      }
    },
  };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Each of what stands in a text must be there. */
function replaceAllOf(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `there is no ${from} in it`);
    return result.replaceAll(from, to);
  }, text);
}

// there is no container engine in the tests: the same scripts, configuration and command lines, in the same order
testWithPrograms(
  ["psql"],
  "the scripts and command lines of Compose's files lead to answers from the handbook",
  async (t) => {
    const { hostname, port, username } = new URL(requireTestDatabaseUrl());
    await using roles = createRoleNames();
    await using database = await createTestDatabase();
    const config = roles.rename(await artefact("docker/compose_config.yaml"))
      .replaceAll(
        "host: database, database: handbook",
        `host: ${hostname}, port: ${port}, database: ${database.name}`,
      )
      .replaceAll("/srv/handbook", fileURLToPath(new URL("../src/demo/handbook", packaging)));
    await using folder = await createConfigFolder(
      config.replaceAll("/var/lib/postern/", "").replaceAll("/var/lib/postern", "data"),
    );
    const passwords = `${folder.path}/passwords`;
    await Deno.mkdir(passwords);

    const makePasswords = roles.rename(await artefact("docker/make_passwords.sh"))
      .replaceAll(/\/run\/(database|postern)-passwords/g, passwords);
    // the users of the images are not those of this machine
    const make = () => succeed("bash", ["-c", `chown() { :; }\n${makePasswords}`]);
    await make();
    const passFile = await Deno.readTextFile(`${passwords}/pgpass`);
    assert.match(passFile, /^(database:5432:\*:postern_(owner|reader|state)_\w+:[\w-]{32}\n){3}$/);
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
    await writeUsers(folder, ["alice"]);
    /** Both servers in one process, which takes half of the time. */
    async function start(variant: typeof services) {
      const commands = ["tools", "rag"].flatMap((name) => variant[name]?.command ?? []);
      const env = { ...variant["rag"]?.environment, ...variant["tools"]?.environment };
      const here = ["-addr", "127.0.0.1:0", "-rag-listen", "127.0.0.1", "-rag-port", "0"];
      const server = await startServer([...commands, ...here, "-config", folder.configFile], {
        env: { ...env, PGPASSFILE: `${passwords}/pgpass`, POSTERN_STATE_USER: roles.names.postern_state },
      });
      const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
      await waitUntil("both servers listen", () => urls().length === 2);
      const [rag = "", tools = ""] = urls();
      return { ...server, rag, tools };
    }
    async function checkAnswers({ rag, tools }: { rag: string; tools: string }): Promise<void> {
      const reply = await fetch(`${rag}/v1/pipelines/handbook`, {
        method: "POST",
        body: JSON.stringify({ query: "How many days of annual leave do I get?", include_sources: true }),
      });
      assert.equal(reply.status, 200);
      assert.match(await reply.text(), /28 days of annual leave/);
      const { text } = await createToolClient({ url: tools, token }).call("query_database", {
        query: "SELECT count(*) > 50 AS many FROM pages",
      });
      assert.match(text, /many\nt/);
    }

    await t.step("compose.yaml: both servers", async () => {
      await using server = await start(services);
      await checkAnswers(server);
    });

    await t.step("compose.yaml: the worker embeds what is written", async () => {
      const operate = ["-config", folder.configFile];
      const env = { PGPASSFILE: `${passwords}/pgpass` };
      const setUp = [...operate, "-setup-watch", "handbook", "-db-user", roles.names.postern_owner];
      const { code, stdout, stderr } = await runProgram(setUp, env);
      assert.equal(code, 0, stderr);
      await database.query(`SET ROLE ${roles.names.postern_owner}; ${stdout.replace(/^\\.*$/m, "")}`);
      const flags = (services["watch"]?.command ?? []).map(roles.rename);
      const worker = command([...operate, ...flags], { env, stdout: "null", stderr: "null" }).spawn();
      try {
        await database.query(
          "UPDATE pages SET embedding = NULL, content = 'Bring your own laptop' WHERE id = 1",
        );
        await waitUntil("the worker has embedded it", async () => {
          const [[isEmbedded] = []] = await database.query(
            "SELECT embedding IS NOT NULL FROM pages WHERE id = 1",
          );
          return isEmbedded === "t";
        });
      } finally {
        worker.kill("SIGTERM");
        await worker.status;
      }
    });

    await t.step("compose_replicas.yaml: the script makes the state, which callers cannot read", async () => {
      // its schema has the role's name
      const sql = (await artefact("docker/state.sql"))
        .replaceAll(/(["'])postern_state\1/g, `$1${roles.names.postern_state}$1`);
      await Deno.writeTextFile(`${folder.path}/state.sql`, sql);
      const makeState = async () =>
        await succeed("bash", ["-c", roles.rename(await artefact("docker/make_state.sh"))], {
          ...{ PASSWORDS: passwords, STATE_SQL: `${folder.path}/state.sql` },
          ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: database.name },
        });
      await makeState();
      await makeState();
      const [[hasPassword] = []] = await database.query(
        `SELECT rolpassword IS NOT NULL FROM pg_authid WHERE rolname = '${roles.names.postern_state}'`,
      );
      assert.equal(hasPassword, "t");
      for (const role of [roles.names.postern_reader, roles.names.postern_owner]) {
        await assert.rejects(
          database.query(`SET ROLE ${role}; SELECT FROM postern_state.records`),
          /permission denied for schema postern_state/,
        );
      }
    });

    await t.step({
      name: "compose_replicas.yaml: three replicas behind nginx are as one",
      ignore: findProgram("nginx") === undefined,
      async fn() {
        await using stack = new AsyncDisposableStack();
        const count = replicas["tools"]?.deploy?.replicas ?? 0;
        const started = await Promise.all(Array.from({ length: count }, () => start(replicas)));
        for (const server of started) stack.use(server);
        const ports = { tools: freePort(), rag: freePort() };
        const servers = (name: "tools" | "rag") =>
          started.map((server) => `server ${new URL(server[name]).host};`).join("\n");
        const conf = replaceAllOf(await artefact("docker/compose_balancer.conf"), {
          // Docker's own DNS, which this machine does not have
          "resolver 127.0.0.11 valid=5s;": "",
          "server tools:8080 resolve;": servers("tools"),
          "server rag:8081 resolve;": servers("rag"),
          "listen               8080;": `listen 127.0.0.1:${ports.tools};`,
          "listen               8081;": `listen 127.0.0.1:${ports.rag};`,
        });
        stack.use(await startNginx(folder.path, conf));
        const tools = `http://127.0.0.1:${ports.tools}`;
        await checkAnswers({ tools, rag: `http://127.0.0.1:${ports.rag}` });
        const { session } = await logIn({ url: tools }, "alice");
        const [[isInDatabase] = []] = await database.query(
          "SELECT count(*) > 0 FROM postern_state.records",
        );
        assert.equal(isInDatabase, "t");
        const client = createToolClient({ url: tools, token: session.session_token });
        const names = async () => (await client.call("list_databases", {})).text;
        for (let call = 0; call < 2 * count; call++) assert.match(await names(), /handbook/);
        // who is sent to the one that is gone is sent on
        await started[0]?.stop();
        for (let call = 0; call < 2 * count; call++) assert.match(await names(), /handbook/);
      },
    });
  },
  testWithPgvectorServer,
);
