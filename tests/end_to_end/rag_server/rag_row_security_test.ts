import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { createRoles, createTestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createRagClient } from "../../support/rag_client.ts";
import {
  configText,
  handbookPipeline,
  keyFile,
  pipelineDatabase,
  type PipelineParts,
  startRagServer,
  vendorKey,
} from "../../support/rag_server.ts";
import { runProgram, startServer } from "../../support/server_process.ts";
import { startTokenIssuer, testAudience } from "../../support/token_issuer.ts";
import { createToolClient } from "../../support/tool_client.ts";

const suffix = randomBytes(4).toString("hex");
const reader = `reader_${suffix}`;
const [roleA, roleB, writer] = [`tenant_a_${suffix}`, `tenant_b_${suffix}`, `writer_${suffix}`];

/** Texts of the same words and vectors close to each other: those of b are farther from the question than all of a. */
const rowsOf = (tenant: "a" | "b", from: number, to: number, distance: number) => `
INSERT INTO notes SELECT n, '${tenant}', 'Expense ' || (CASE n % 3 WHEN 0 THEN 'report ' ELSE 'claim ' END)
    || repeat('laptop ', n % 5)
    || CASE WHEN n % 7 = 0 THEN 'training ' ELSE '' END || CASE WHEN n % 11 = 0 THEN 'gold ' ELSE '' END || 'number ' || n,
  ('[1,' || ${distance} + n % 7 * 0.01 || ',' || n * 0.00001 || ']')::vector
FROM generate_series(${from}, ${to}) n;`;

const notes = `
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE notes (id int PRIMARY KEY, tenant text, body text, embedding vector(3),
  words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
CREATE INDEX ON notes USING hnsw (embedding vector_cosine_ops); CREATE INDEX ON notes USING gin (words);
ALTER TABLE notes OWNER TO ${writer}; GRANT SELECT ON notes TO ${reader}, ${roleA}, ${roleB};
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_claim ON notes TO ${reader} USING (tenant = current_setting('app.tenant', true));
CREATE POLICY of_a ON notes TO ${roleA} USING (tenant = 'a');
CREATE POLICY of_b ON notes TO ${roleB} USING (tenant = 'b');`;

const table = { table: "notes", text_column: "body", vector_column: "embedding", id_column: "id" };

async function createTenants() {
  await using stack = new AsyncDisposableStack();
  stack.use(
    await createRoles(
      [reader, roleA, roleB, writer],
      `CREATE ROLE ${reader} LOGIN NOINHERIT; CREATE ROLE ${roleA}; CREATE ROLE ${roleB}; CREATE ROLE ${writer};
    GRANT ${roleA}, ${roleB} TO ${reader}`,
    ),
  );
  const [shared, alone] = [
    stack.use(await createTestDatabase()),
    stack.use(await createTestDatabase()),
  ];
  for (const database of [shared, alone]) {
    await database.query(notes + rowsOf("b", 5_001, 7_300, 0.5));
  }
  await shared.query(rowsOf("a", 1, 4_500, 0) + "ANALYZE notes;");
  const owned = stack.move();
  return { shared, alone, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Keyword indexes over the rows of all, which every role may read. */
async function indexWords(
  { shared, alone }: Awaited<ReturnType<typeof createTenants>>,
  vendors: Pick<PipelineParts, "openai" | "anthropic">,
): Promise<void> {
  const pipelines = [shared, alone].map((database) =>
    handbookPipeline(database.name, { database, ...vendors }, { tables: [table] })
  );
  await using folder = await createConfigFolder(configText({ pipelines }));
  await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
  for (const database of [shared, alone]) {
    const made = await runProgram(["-index-pipeline", database.name, "-config", folder.configFile]);
    assert.equal(made.code, 0, made.stderr);
    await database.query(`GRANT USAGE ON SCHEMA postern TO PUBLIC;
      GRANT SELECT ON ALL TABLES IN SCHEMA postern TO PUBLIC`);
  }
}

testWithPgvectorServer(
  "a tenant's answers are the same whatever other tenants have, through both servers",
  async () => {
    await using tenants = await createTenants();
    await using openai = createVendor("openai", { embed: () => [1, 0, 0] });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    await using issuer = await startTokenIssuer();
    const ways = {
      claims: { session_settings: { "app.tenant": "{claim:tenant}" } },
      roles: { role_from_claim: "role", allowed_roles: [roleA, roleB] },
    };
    const pipelines = Object.entries(ways).flatMap(([way, settings]) =>
      (["shared", "alone"] as const).map((name) =>
        handbookPipeline(`${way}-${name}`, { database: tenants[name], openai, anthropic }, {
          database: pipelineDatabase(tenants[name], { username: reader }),
          tables: [table],
          top_n: 20,
          ...settings,
        })
      )
    );
    await indexWords(tenants, { openai, anthropic });
    const identity_provider = { audience: testAudience, issuer: issuer.issuer };
    await using rag = await startRagServer({
      pipelines,
      server: { listen_address: "127.0.0.1", port: 0, auth: { enabled: true, identity_provider } },
    });
    const tokenOf = (tenant: "a" | "b") =>
      issuer.token({ claims: { tenant, role: tenant === "a" ? roleA : roleB } });
    const [a, b] = [await tokenOf("a"), await tokenOf("b")];
    const ask = async (pipeline: string, token: string, query: object) => {
      const client = createRagClient({ url: rag.process.url, token });
      const { status, body } = await client.post(pipeline, { include_sources: true, ...query });
      assert.equal(status, 200, JSON.stringify(body));
      return body.sources ?? [];
    };
    const questions = [
      { query: "expense claim laptop" },
      { query: "report number 5050" },
      { query: "gold training report of a laptop" },
      { query: "expense", filter: { conditions: [{ column: "id", operator: "<", value: 5_040 }] } },
      { query: "laptop", filter: { conditions: [{ column: "tenant", operator: "=", value: "a" }] } },
    ];
    for (const way of Object.keys(ways)) {
      for (const question of questions) {
        // at the same time, over the same connections
        const [shared, alone, others] = await Promise.all([
          ask(`${way}-shared`, b, question),
          ask(`${way}-alone`, b, question),
          ask(`${way}-shared`, a, question),
        ]);
        assert.deepEqual(shared, alone, `${way}: ${question.query}`);
        assert.equal(shared.length, question.query === "laptop" ? 0 : 20);
        assert.ok(others.every(({ id }) => Number(id) <= 4_500));
      }
      assert.deepEqual(await ask(`${way}-alone`, a, { query: "expense" }), []);
    }

    await using folder = await createConfigFolder(configText({
      pipelines,
      http: { auth: { identity_provider } },
    }));
    await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
    const [queries, qrels] = [join(folder.path, "q.tsv"), join(folder.path, "qrels.tsv")];
    await Deno.writeTextFile(queries, "1\texpense claim laptop\n");
    await Deno.writeTextFile(qrels, "1\t5005\t1\n");
    const look = (...args: string[]) => runProgram([...args, "-config", folder.configFile]);
    const claims = JSON.stringify({ tenant: "b", role: roleB });
    for (const given of [[], ["-claims", claims]]) {
      const { code, stdout } = await look("-doctor", ...given);
      assert.equal(code, 0, stdout);
      const tried = stdout.match(/ search of notes: .*/g)?.filter((line) =>
        !line.includes("compare every row")
      );
      const expected = given.length === 0
        ? /: not tried: the caller has no claim "(tenant|role)"/
        : /: 10 documents in /;
      assert.ok(tried?.length === 4 && tried.every((line) => expected.test(line)), stdout);
      assert.doesNotMatch(stdout, /no documents yet/);
    }
    const measure = (...given: string[]) =>
      look("-evaluate", "claims-shared", "-queries", queries, "-qrels", qrels, ...given);
    const { code, stderr } = await measure();
    assert.equal(code, 1);
    assert.match(stderr, /the caller has no claim "tenant", .*; give the caller's claims with -claims/);
    const [ofB, ofA] = [await measure("-claims", claims), await measure("-claims", '{"tenant":"a"}')];
    assert.match(ofB.stdout, /^vector +[01]\.\d+ +[01]\.\d+ +1\.0000/m);
    assert.match(ofA.stdout, /^vector +0\.0000 +0\.0000 +0\.0000/m);
    assert.match((await look("-doctor", "-claims", "[]")).stderr, /-claims expects a JSON object/);

    await using tools = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    const stranger = createToolClient({
      url: tools.url,
      token: await issuer.token({ claims: { role: "postgres" } }),
    });
    const requests = openai.requests.length;
    for (
      const [way, reason] of [["claims", /no claim "tenant"/], [
        "roles",
        /a role that is not allowed/,
      ]] as const
    ) {
      const pipeline = `${way}-shared`;
      const { isError, text } = await stranger.call("ask_pipeline", { question: "expense", pipeline });
      assert.ok(isError && reason.test(text), text);
      const fetched = await stranger.call("fetch", { id: `${pipeline}/1-7` });
      assert.ok(fetched.isError && reason.test(fetched.text), fetched.text);
      const uri = `postern://pipelines/${pipeline}/1-7`;
      const { error } = await stranger.request("resources/read", { uri });
      assert.deepEqual([error.code, reason.test(error.message)], [-32009, true], JSON.stringify(error));
    }
    const searched = await stranger.call("search", { query: "expense" });
    assert.ok(searched.isError && /no claim "tenant"/.test(searched.text), searched.text);
    assert.equal(openai.requests.length, requests);
    assert.doesNotMatch(tools.stderr(), / ERROR /);

    for (const way of Object.keys(ways)) {
      const [ofA, ofB] = [a, b].map((token) => createToolClient({ url: tools.url, token }));
      assert.ok(ofA !== undefined && ofB !== undefined);
      const { text: found } = await ofB.call("search", { query: "expense claim laptop" });
      const ids = Array.from(found.matchAll(/"id":"[a-z-]+\/1-(\d+)"/g), ([, id]) => Number(id));
      assert.ok(ids.length > 0 && ids.every((id) => id > 5_000), found);
      const { text: asked } = await ofB.call("ask_pipeline", {
        question: "expense claim",
        pipeline: `${way}-shared`,
      });
      assert.match(asked, /1-[567]\d\d\d/);
      assert.doesNotMatch(asked, /1-[1-4]?\d{1,3}\b/);

      // a document of another reads as one that is not there
      const fetched = async (client: typeof ofA, id: number) => {
        const { isError, text } = await client.call("fetch", { id: `${way}-shared/1-${id}` });
        return { isError, text: text.replaceAll(String(id), "ID") };
      };
      assert.equal((await fetched(ofA, 7)).isError, false);
      assert.deepEqual(await fetched(ofB, 7), await fetched(ofB, 9_777));
      const read = async (id: number) => {
        const uri = `postern://pipelines/${way}-shared/1-${id}`;
        const { error } = await ofB.request("resources/read", { uri });
        return JSON.stringify(error).replaceAll(String(id), "ID");
      };
      assert.equal(await read(7), await read(9_777));
    }
  },
);

testWithPgvectorServer(
  "a pipeline whose policies do not hold every caller does not serve, and says why",
  async () => {
    await using tenants = await createTenants();
    const { alone } = tenants;
    const copy = (name: string) =>
      `CREATE TABLE ${name} AS TABLE notes; GRANT SELECT ON ${name} TO ${reader}, ${roleA};`;
    await alone.query(`
    ${copy("open")}
    ${copy("bare")} ALTER TABLE bare ENABLE ROW LEVEL SECURITY;
    ${copy("owned")} ALTER TABLE owned ENABLE ROW LEVEL SECURITY; ALTER TABLE owned OWNER TO ${reader};
    CREATE POLICY all_rows ON owned USING (true);
    CREATE MATERIALIZED VIEW copied AS TABLE notes; GRANT SELECT ON copied TO ${reader};
    CREATE VIEW seen AS SELECT id, body, embedding FROM notes; GRANT SELECT ON seen TO ${reader};
    CREATE TABLE parts (LIKE notes) PARTITION BY LIST (tenant); CREATE TABLE part PARTITION OF parts DEFAULT;
    ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON parts USING (tenant = 'b');
    GRANT SELECT ON parts TO ${reader};
    CREATE VIEW owners AS SELECT id, body, embedding FROM notes; ALTER VIEW owners OWNER TO ${writer};
    GRANT SELECT ON owners TO ${reader};`);
    await using openai = createVendor("openai", { embed: () => [1, 0, 0] });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const settings = { session_settings: { "app.tenant": "{username}" } };
    const parts = { database: alone, openai, anthropic };
    const pipelineOf = (name: string, changes: object = {}) =>
      handbookPipeline(name, parts, {
        database: pipelineDatabase(alone, { username: reader }),
        tables: [{ ...table, table: name }],
        ...settings,
        ...changes,
      });
    const superuser = pipelineOf("notes", { name: "superuser", database: pipelineDatabase(alone) });
    const faulty = ["open", "bare", "owned", "copied", "seen", "parts", "owners"];
    const pipelines = [
      pipelineOf("notes"),
      superuser,
      pipelineOf("notes", { name: "own", role_from_user: true }),
      pipelineOf("notes", {
        name: "refused",
        role_from_claim: "role",
        allowed_roles: [roleA, writer, "no_role"],
      }),
      ...faulty.map((name) => pipelineOf(name)),
    ];
    // a pipeline that asks for claims needs somebody who vouches for them; nobody here has any
    const identity_provider = { audience: testAudience, issuer: "https://login.example.com" };
    await using rag = await startRagServer({ pipelines, http: { auth: { identity_provider } } });
    const { client, process } = rag;
    const ask = (name: string) => client.post(name, { query: "expense", include_sources: true });
    assert.deepEqual((await ask("notes")).body.sources, []);
    assert.equal((await ask("own")).status, 200);
    const reasons = {
      superuser: /role "?postgres"? is a superuser, whom no policy holds/,
      open: /not enabled for public\.open \(ALTER TABLE public\.open ENABLE ROW LEVEL SECURITY;\)/,
      bare: new RegExp(
        `public\\.bare has no policy for what role ${reader} reads .*` +
          "USING \\(owner = nullif\\(current_setting\\('app.tenant', true\\), ''\\)\\);",
      ),
      owned: new RegExp(`role ${reader} owns public\\.owned`),
      copied: /public\.copied is a materialized view/,
      seen:
        /view public\.seen reads public\.notes as postgres, a superuser, whom no policy holds .*ALTER VIEW public\.seen SET \(security_invoker = on\);/,
      parts: /not enabled for public\.part \(ALTER TABLE public\.part /,
      owners: new RegExp(`view public\\.owners reads public\\.notes as ${writer}, who owns it`),
    };
    const health = (await client.get("/v1/health")).body;
    assert.equal(health.status, "degraded");
    for (const [name, reason] of Object.entries(reasons)) {
      const { status, body } = await ask(name);
      assert.deepEqual([status, body.error], [500, {
        code: "EXECUTION_ERROR",
        message: "an internal error occurred",
      }], name);
      const said = process.stderr().split("\n").filter((line) =>
        line.includes(`Cannot serve pipeline`) && line.includes(name)
      );
      assert.match(said.join("\n"), reason, name);
      assert.deepEqual(health.pipelines?.find((pipeline) => pipeline.name === name)?.database, {
        reachable: true,
        error: "row-level security does not hold every caller; the log says what to mend",
      });
    }
    const doctor = await runProgram(["-doctor", "-config", rag.folder.configFile]);
    assert.match(
      doctor.stdout,
      /The pipeline does not serve: row-level security is not enabled for public\.open/,
    );
    for (
      const refused of [
        `pipelines[3].allowed_roles[1]: the login "${reader}" may not take the role "${writer}"`,
        'pipelines[3].allowed_roles[2]: PostgreSQL has no role "no_role"',
      ]
    ) {
      assert.ok(process.stderr().includes(refused), refused);
      assert.ok(doctor.stdout.includes(refused), refused);
    }
    assert.match(doctor.stdout, /^ *ALTER TABLE public\.open ENABLE ROW LEVEL SECURITY;/m);

    // what is mended serves, without a restart
    await alone.query(`ALTER TABLE open ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own_rows ON open USING (tenant = 'b' AND id < 5003)`);
    assert.deepEqual((await ask("open")).body.sources?.map(({ id }) => id), ["5001", "5002"]);
  },
);
