import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { createRoles, createTestDatabase, testWithPgvector } from "../../support/database.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { handbookPipeline, pipelineDatabase, startRagServer } from "../../support/rag_server.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";

const suffix = randomBytes(4).toString("hex");
const [reader, tenantRole] = [`claims_reader_${suffix}`, `claims_tenant_${suffix}`];

/** Policies as for PostgREST; the role sees the even rows of its tenant. */
const schema = `
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE notes (id int PRIMARY KEY, tenant text, body text, embedding vector(3),
  words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
CREATE INDEX ON notes USING gin (words);
GRANT SELECT ON notes TO ${reader}, ${tenantRole};
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_claim ON notes TO ${reader}
  USING (tenant = current_setting('request.jwt.claims', true)::json->>'tenant');
CREATE POLICY by_role ON notes TO ${tenantRole}
  USING (tenant = current_setting('request.jwt.claims', true)::json->>'tenant' AND id % 2 = 0);
CREATE TABLE numbered (LIKE notes INCLUDING ALL);
GRANT SELECT ON numbered TO ${reader}, ${tenantRole};
ALTER TABLE numbered ENABLE ROW LEVEL SECURITY;
ALTER TABLE numbered FORCE ROW LEVEL SECURITY;
CREATE POLICY by_number ON numbered USING (tenant::bigint = current_setting('app.tenant', true)::bigint);
INSERT INTO numbered (id, tenant, body, embedding)
VALUES (1, '7', 'Expense report', '[1,0,0]'), (2, '1234567890123456800', 'Expense report', '[1,0,0]');
CREATE TABLE open AS TABLE notes; GRANT SELECT ON open TO ${reader};
INSERT INTO notes SELECT n, CASE WHEN n <= 3 THEN 'acmé' ELSE 'b' END, 'Expense report ' || n, '[1,0,0]'
FROM generate_series(1, 6) n;`;

testWithPgvector("claims of a trusted proxy decide what a caller reads", async () => {
  await using stack = new AsyncDisposableStack();
  stack.use(
    await createRoles(
      [reader, tenantRole],
      `CREATE ROLE ${reader} LOGIN NOINHERIT; CREATE ROLE ${tenantRole}; GRANT ${tenantRole} TO ${reader}`,
    ),
  );
  const database = stack.use(await createTestDatabase());
  await database.query(schema);
  const openai = stack.use(createVendor("openai", { embed: () => [1, 0, 0] }));
  const anthropic = stack.use(createVendor("anthropic", { answer: "Quite so." }));
  const pipelineOf = (table: string, changes = {}) =>
    handbookPipeline(table, { database, openai, anthropic }, {
      database: pipelineDatabase(database, { username: reader }),
      tables: [{ table, text_column: "body", vector_column: "embedding", id_column: "id" }],
      ...changes,
    });
  const config = {
    pipelines: [
      pipelineOf("notes"),
      pipelineOf("open"),
      pipelineOf("numbered", { session_settings: { "app.tenant": "{claim:tenant}" } }),
    ],
    limits: {
      default: { provider_tokens_per_day: 1_000_000 },
      principals: { carol: { provider_tokens_per_day: 2_000_000 } },
    },
    audit: { file: "audit.jsonl" },
    log: { level: "debug", access: true },
    identity: { enabled: true, trusted_proxies: ["127.0.0.1"], allowed_roles: [tenantRole] },
  };
  const rag = stack.use(await startRagServer(config));

  const ask = async (headers: Record<string, string>, pipeline = "notes") => {
    const response = await rag.client.send(`/v1/pipelines/${pipeline}`, {
      method: "POST",
      headers,
      body: '{"query":"expense report","include_sources":true}',
    });
    const { sources, error } = await response.json();
    return [response.status, error?.code ?? sources.map(({ id }: { id: string }) => id).toSorted()];
  };
  const claimsOf = (text: string) => ({
    "x-forwarded-claims": Buffer.from(text, "utf8").toString("latin1"),
  });
  const claims = (value: unknown) => claimsOf(JSON.stringify(value));

  // at the same time, over the same connections
  const [a, b, none, ofRole] = await Promise.all([
    ask(claims({ sub: "alice", tenant: "acmé" })),
    ask(claims({ sub: "bob", tenant: "b" })),
    ask({ "x-forwarded-user": "alice" }),
    ask(claims({ sub: "carol", tenant: "b", role: tenantRole })),
  ]);
  assert.deepEqual(a, [200, ["1", "2", "3"]]);
  assert.deepEqual(b, [200, ["4", "5", "6"]]);
  assert.deepEqual(none, [200, []]);
  assert.deepEqual(ofRole, [200, ["4", "6"]]);
  // the same caller with other claims reads other rows
  assert.deepEqual(await ask(claims({ sub: "alice", tenant: "b" })), [200, ["4", "5", "6"]]);

  assert.deepEqual(await ask(claims({ tenant: "b", role: reader })), [403, "IDENTITY_ROLE_NOT_ALLOWED"]);
  assert.deepEqual(await ask({}), [401, "IDENTITY_REQUIRED"]);
  assert.deepEqual(await ask({ "x-forwarded-claims": "secret-claim" }), [400, "IDENTITY_MALFORMED"]);
  assert.deepEqual(await ask(claims({ tenant: "b" }), "open"), [500, "EXECUTION_ERROR"]);
  const { status, body } = await rag.client.get("/v1/health");
  assert.deepEqual([status, body.pipelines?.map(({ name }) => name)], [200, ["notes", "open", "numbered"]]);
  assert.equal((await rag.client.get("/v1/pipelines")).status, 200);
  // all of these have used tokens
  assert.deepEqual((await rag.client.get("/v1/stats")).body.pipelines, []);

  // a claim twice would be one to PostgreSQL and another to who looks at the role
  for (const twice of ['"tenant":"b","ten\\u0061nt":"acmé"', `"role":"${tenantRole}","role":"postgres"`]) {
    assert.deepEqual(await ask(claimsOf(`{${twice}}`)), [400, "IDENTITY_MALFORMED"]);
  }
  assert.deepEqual(await ask(claimsOf('{"__proto__":{"tenant":"b"}}')), [200, []]);
  // rounded, the number would be the tenant of row 2
  assert.deepEqual(await ask(claimsOf('{"tenant":7}'), "numbered"), [200, ["1"]]);
  const logged = rag.process.stderr();
  const requests = openai.requests.length;
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await ask(claimsOf('{"tenant":1234567890123456789}'), "numbered"), [
      403,
      "IDENTITY_CLAIM_REQUIRED",
    ]);
    assert.deepEqual(await ask({ "x-forwarded-user": "alice" }, "numbered"), [
      403,
      "IDENTITY_CLAIM_REQUIRED",
    ]);
  }
  assert.equal(openai.requests.length, requests);
  const since = rag.process.stderr().slice(logged.length).split("\n").filter((line) =>
    / WARN | ERROR /.test(line)
  );
  assert.equal(since.length, 1, since.join("\n"));
  assert.match(
    since.join(),
    /WARN +Questions are refused: the database cannot be told who asks pipeline=numbered/,
  );
  // the policy's cast fails, and quotes what it was given
  assert.deepEqual(await ask(claims({ tenant: "secret-claim" }), "numbered"), [500, "EXECUTION_ERROR"]);

  const usageOf = async (headers: Record<string, string>) => {
    const response = await rag.client.send("/v1/usage", { headers });
    const { limits, error } = await response.json();
    return [response.status, error?.code ?? [limits[0].maximum, limits[0].used > 0]];
  };
  assert.deepEqual(await usageOf(claims({ sub: "alice" })), [200, [1_000_000, true]]);
  assert.deepEqual(await usageOf({ "x-forwarded-user": "carol" }), [200, [2_000_000, true]]);
  assert.deepEqual(await usageOf(claims({ tenant: 7 })), [200, [1_000_000, true]]);
  assert.deepEqual(await usageOf(claims({ tenant: 8 })), [200, [1_000_000, false]]);
  assert.deepEqual(await usageOf({ "x-forwarded-for": "192.0.2.1" }), [401, "IDENTITY_REQUIRED"]);
  const audited = (): Promise<string> => Deno.readTextFile(`${rag.folder.path}/audit.jsonl`);
  const ofSeven = `"issuer:proxy-claims-sha256:X-Forwarded-Claims#${sha256('{"tenant":7}')}"`;
  await waitUntil(
    "the trail names a caller without a subject",
    async () => (await audited()).includes(ofSeven),
  );
  await waitUntil(
    "the trail says why a question was refused",
    async () =>
      /"outcome":"identity_claim_required".*"reason":"the caller has no claim \\"tenant\\", by which/.test(
        await audited(),
      ),
  );

  const log = rag.process.stderr();
  assert.match(log, /proxy:X-Forwarded-Claims#alice/);
  assert.match(log, /search failed pipeline=numbered .*"sqlState":"22P02"/);
  assert.doesNotMatch(log, /"tenant"|secret-claim/);

  // pipelines without claims would show everyone all rows
  await rag.configure({ pipelines: config.pipelines });
  await waitUntil(
    "the settings that ask for claims are refused",
    () => /pipelines\[2\]\.session_settings\.app\.tenant: asks for a claim/.test(rag.process.stderr()),
  );
  await rag.configure({ pipelines: config.pipelines.slice(0, 2) });
  await waitUntil(
    "the change is refused",
    () => rag.process.stderr().includes("Cannot change identity while the server runs: restart it"),
  );
  assert.deepEqual(await ask({}), [401, "IDENTITY_REQUIRED"]);
  assert.deepEqual(await ask(claims({ tenant: "acmé" })), [200, ["1", "2", "3"]]);

  const elsewhere = { ...config.identity, trusted_proxies: ["192.0.2.1"] };
  await using other = await startRagServer({ ...config, identity: elsewhere });
  const refused = await other.client.send("/v1/pipelines/notes", {
    method: "POST",
    headers: { ...claims({ tenant: "b" }), "x-forwarded-for": "192.0.2.1" },
    body: '{"query":"expense"}',
  });
  assert.deepEqual([refused.status, (await refused.json()).error.code], [403, "IDENTITY_UNTRUSTED_PEER"]);
  assert.equal((await other.client.get("/v1/health")).status, 200);
});
