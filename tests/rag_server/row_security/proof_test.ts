import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { AppError } from "../../../src/core/app_error.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createRowSecurityProof, RowSecurityError } from "../../../src/rag_server/row_security/proof.ts";
import { runSql, testDatabaseUrl, testWithPgvector, testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "../keyword/fixture.ts";
import { noDocuments } from "../no_documents.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();

testWithPostgres(
  "a role that is new is looked at when a caller takes it, and again after a minute",
  async () => {
    const role = `alice_${randomBytes(4).toString("hex")}`;
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void await runSql(testDatabaseUrl ?? "", `DROP ROLE IF EXISTS ${role}`));
    const fixture = stack.use(
      await createKeywordFixture(`CREATE ROLE ${role} BYPASSRLS;
    CREATE TABLE docs (id int PRIMARY KEY, body text); ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON docs TO ${role} USING (true)`),
    );
    let now = 0;
    // of no table at first: the fixture logs in as a superuser
    const tables: string[] = [];
    const proof = createRowSecurityProof({
      pipeline: "docs",
      database: fixture.database,
      settings: { name: "docs", roleFromUser: true, sessionSettings: {} },
      tables,
      now: () => now,
    });
    await proof.prove(signal);
    tables.push("docs");
    const guarded = proof.guarding({
      documents: noDocuments,
      checkFilter: () => Promise.resolve(),
      retrieve: () => Promise.resolve([{ table: "docs", content: "found", score: 1 }]),
    });
    const caller: Principal = { kind: "session", id: "s", username: role };
    const ask = () =>
      guarded.retrieve({
        question: "?",
        embedding: new Float32Array(1),
        limit: 1,
        hybrid: true,
        caller,
        signal,
      });
    const refused = (reason: RegExp) => (error: unknown) => {
      assert.ok(error instanceof RowSecurityError);
      assert.match(error.message, reason);
      return true;
    };
    await assert.rejects(
      ask(),
      refused(/has BYPASSRLS, so no policy holds it \(ALTER ROLE \w+ NOBYPASSRLS;\)/),
    );
    await assert.rejects(
      async () => await guarded.documents.read("1-1", { caller, signal }),
      refused(/BYPASSRLS/),
    );
    await fixture.query(`ALTER ROLE ${role} NOBYPASSRLS`);
    assert.equal((await ask()).length, 1);
    await fixture.query(`DROP POLICY own ON docs`);
    now = 59_999;
    assert.equal((await ask()).length, 1);
    now = 60_000;
    await assert.rejects(ask(), refused(/public\.docs has no policy for what role alice_\w+ reads/));
  },
);

const ways = {
  allowed_roles: { roleFromUser: false, roleFromClaim: "role" },
  role_from_user: { roleFromUser: true },
} as const;
for (const [way, settings] of Object.entries(ways)) {
  testWithPgvector(`${way}: the proof covers each role that a caller may come to read as`, async () => {
    const suffix = randomBytes(4).toString("hex");
    const [login, tenant] = [`login_${suffix}`, `tenant_${suffix}`];
    const admin = testDatabaseUrl ?? "";
    await runSql(
      admin,
      `CREATE ROLE ${login} LOGIN NOINHERIT; CREATE ROLE ${tenant}; GRANT ${tenant} TO ${login}`,
    );
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void await runSql(admin, `DROP ROLE IF EXISTS ${login}, ${tenant}`));
    const fixture = stack.use(
      await createSearchFixture(
        `CREATE TABLE docs (id int PRIMARY KEY, body text); ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON docs TO ${tenant} USING (true)`,
        { user: login },
      ),
    );
    const proof = createRowSecurityProof({
      pipeline: "docs",
      database: fixture.database,
      settings: {
        name: "docs",
        sessionSettings: {},
        ...settings,
        ...(way === "allowed_roles" && { allowedRoles: [tenant] }),
      },
      tables: ["docs"],
      now: () => 0,
    });
    await proof.prove(signal);
    await fixture.admin.query(`ALTER ROLE ${tenant} BYPASSRLS`);
    await assert.rejects(proof.prove(signal), new RegExp(`role ${tenant} has BYPASSRLS`));
    await fixture.admin.query(`ALTER ROLE ${tenant} NOBYPASSRLS; ALTER TABLE docs OWNER TO ${tenant}`);
    await assert.rejects(proof.prove(signal), new RegExp(`role ${tenant} owns public\\.docs`));
    await fixture.admin.query(`ALTER TABLE docs OWNER TO CURRENT_USER; DROP POLICY own ON docs`);
    const missing = new RegExp(`docs has no policy for what role ${tenant} reads`);
    // of a caller's own name it is asked when the caller comes
    if (way === "allowed_roles") await assert.rejects(proof.prove(signal), missing);
    else await proof.prove(signal);
  });
}

testWithPostgres("a proof that cannot be repeated counts for two minutes and no longer", async () => {
  await using fixture = await createKeywordFixture("SELECT 1");
  const { database } = fixture;
  let now = 0;
  let isDown = false;
  const proof = createRowSecurityProof({
    pipeline: "docs",
    database: {
      ...database,
      read: (request) =>
        isDown ? Promise.reject(new AppError("unavailable", "Cannot connect")) : database.read(request),
    },
    settings: { name: "docs", roleFromUser: false, sessionSettings: { "app.tenant": "{user}" } },
    // a table that is not there has no fault
    tables: ["absent"],
    now: () => now,
  });
  const guarded = proof.guarding({
    documents: { ...noDocuments, read: () => Promise.resolve(undefined) },
    checkFilter: () => Promise.resolve(),
    retrieve: () => Promise.resolve([]),
  });
  const caller: Principal = { kind: "session", id: "s", username: "alice" };
  const asked = { question: "?", embedding: new Float32Array(1), limit: 1, hybrid: true, caller, signal };
  const reads = () => [
    guarded.documents.read("1-1", { caller, signal }),
    guarded.checkFilter({ logic: "AND", conditions: [] }, { caller, signal }),
    guarded.retrieve(asked),
  ];
  await proof.prove(signal);
  isDown = true;
  now = 119_999;
  await Promise.all(reads());
  now = 120_000;
  for (const read of reads()) await assert.rejects(Promise.resolve(read), { code: "unavailable" });
  isDown = false;
  await Promise.all(reads());
});
