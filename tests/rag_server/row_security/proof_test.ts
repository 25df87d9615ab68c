import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { AppError } from "../../../src/core/app_error.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { isolationFaults, rolesOf } from "../../../src/rag_server/row_security/isolation_faults.ts";
import { createRowSecurityProof, RowSecurityError } from "../../../src/rag_server/row_security/proof.ts";
import {
  createRoles,
  runSql,
  testDatabaseUrl,
  testWithPgvector,
  testWithPostgres,
} from "../../support/database.ts";
import { createCatalogFixture } from "../../postgres/catalog/catalog_fixture.ts";
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
    await using _roles = await createRoles(
      [login, tenant],
      `CREATE ROLE ${login} LOGIN NOINHERIT; CREATE ROLE ${tenant}; GRANT ${tenant} TO ${login}`,
    );
    await using fixture = await createSearchFixture(
      `CREATE TABLE docs (id int PRIMARY KEY, body text); ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON docs TO ${tenant} USING (true)`,
      { user: login },
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

/** A login that may take a role with a policy of its own, by a grant of another role that is a member of it. */
async function createInheritingLogin() {
  await using opened = new AsyncDisposableStack();
  const { admin, connect, createRole } = opened.use(
    await createCatalogFixture(
      `CREATE TABLE docs (id int PRIMARY KEY, body text); ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
      CREATE POLICY of_everyone ON docs USING (body = current_setting('app.tenant', true))`,
    ),
  );
  const [login, between, tenant] = [
    await createRole("login"),
    await createRole("between"),
    await createRole("tenant"),
  ];
  await admin.query(
    `GRANT ${tenant} TO ${between}; GRANT ${between} TO ${login}; GRANT SELECT ON docs TO ${login};
    CREATE POLICY of_tenant ON docs TO ${tenant} USING (body = 'tenant')`,
  );
  const owned = opened.move();
  return {
    login,
    tenant,
    admin,
    database: connect({ user: login }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

testWithPostgres("no proof holds where callers without a role read what a role's policies show", async () => {
  await using f = await createInheritingLogin();
  const { database, admin } = f;
  const optional = {
    roleFromUser: false,
    roleFromClaim: "role",
    allowedRoles: [f.tenant],
    isRoleOptional: true,
    sessionSettings: {},
  };
  const faults = (settings: Parameters<typeof rolesOf>[0]) =>
    isolationFaults(database, ["docs"], rolesOf(settings), signal);
  const [fault, ...others] = await faults(optional);
  assert.equal(
    fault?.message,
    `role ${f.login} inherits the policies of role ${f.tenant} on public.docs, and callers without a role read as ${f.login}`,
  );
  assert.deepEqual(others, []);
  // a role that is needed, or a policy that is everyone's, is no such way
  assert.deepEqual(await faults({ ...optional, isRoleOptional: false }), []);
  await admin.query("DROP POLICY of_tenant ON docs");
  assert.deepEqual(await faults(optional), []);
  await admin.query(`CREATE POLICY of_tenant ON docs TO ${f.tenant} USING (body = 'tenant')`);
  // what it says mends it, and leaves the role to be taken
  await admin.query(fault?.remedy ?? "");
  assert.deepEqual(await faults(optional), []);
  const principal: Principal = { kind: "local" };
  const settings = { role: f.tenant };
  const read = await database.read({
    principal,
    trusted: true,
    settings,
    sql: "SELECT current_user",
    signal,
  });
  assert.deepEqual(read.ok ? read.rows : read.error, [[f.tenant]]);
});

testWithPostgres(
  "a caller without a name reads nothing where the login has the policies of names",
  async () => {
    await using f = await createInheritingLogin();
    const proof = createRowSecurityProof({
      pipeline: "docs",
      database: f.database,
      settings: { name: "docs", roleFromUser: true, sessionSettings: {} },
      tables: ["docs"],
      now: () => 0,
    });
    const guarded = proof.guarding({
      documents: { ...noDocuments, read: () => Promise.resolve(undefined) },
      checkFilter: () => Promise.resolve(),
      retrieve: () => Promise.resolve([]),
    });
    await proof.prove(signal);
    const named: Principal = { kind: "session", id: "s", username: f.tenant };
    assert.equal(await guarded.documents.read("1-1", { caller: named, signal }), undefined);
    const nameless = async () => await guarded.documents.read("1-1", { caller: { kind: "local" }, signal });
    await assert.rejects(
      nameless,
      /as its login: .* inherits the policies of role \w+_tenant on public\.docs/,
    );
    await f.admin.query("DROP POLICY of_tenant ON docs");
    assert.equal(await nameless(), undefined);
  },
);

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
