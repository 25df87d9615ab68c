import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { quoteLiteral, renderSql, verbatim } from "../../../src/postgres/sql_text.ts";
import { keywordSearch } from "../../../src/rag_server/keyword/keyword_search.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { runSql, testDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createKeywordFixture } from "./fixture.ts";

const { signal } = new AbortController();
const tables = ["documents", "lists", "recent"].map((name) => `keyword_1_${name}`);

/** A table of an owner's own, which tenants may read, and an auditor whom no policy holds by way of a group. */
async function createTenants() {
  const suffix = randomBytes(4).toString("hex");
  const named = (name: string) => `${name}_${suffix}`;
  const [owner, tenant, other] = [named("owner"), named("tenant"), named("other")];
  const [group, auditor] = [named("group"), named("auditor")];
  const roles = [owner, tenant, other, group, auditor].join(", ");
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void await runSql(testDatabaseUrl ?? "", `DROP ROLE IF EXISTS ${roles}`));
  const fixture = stack.use(
    await createKeywordFixture(`CREATE ROLE ${owner} LOGIN; CREATE ROLE ${tenant} LOGIN; CREATE ROLE ${other};
    CREATE ROLE ${group}; CREATE ROLE ${auditor} LOGIN BYPASSRLS IN ROLE ${group};
    CREATE TABLE docs (id int PRIMARY KEY, tenant text, body text);
    INSERT INTO docs VALUES (1, '${tenant}', 'apple'), (2, 'b', 'secret merger');
    CREATE POLICY own ON docs USING (tenant = current_user);
    ALTER TABLE docs OWNER TO ${owner}; GRANT SELECT ON docs TO ${tenant}, ${group}`),
  );
  const url = new URL(fixture.url);
  url.username = owner;
  const asOwner = stack.adopt(
    await connect(databaseOptions(url.href), { signal, logger: silentLogger }),
    (connection) => connection.close(),
  );
  await fixture.query(
    `DO $$BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO ${owner}', current_database()); END$$`,
  );
  const owned = stack.move();
  return {
    ...fixture,
    roles: { owner, tenant, other, auditor },
    buildAsSuperuser: fixture.build,
    /** As the owner. */
    build: () => fixture.build({ connection: asOwner }),
    /** Rows of each of the index's tables; undefined where the role may not read it. */
    rowsFor: (role: string) =>
      Promise.all(tables.map(async (table) => {
        try {
          const [[count] = []] = await fixture.query(
            `SET ROLE ${role}; SELECT count(*) FROM postern.${table}`,
          );
          return Number(count);
        } catch (error) {
          assert.match(String(error), /permission denied for (table|schema)/);
          return undefined;
        }
      })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const none = tables.map(() => undefined);
const enable = "ALTER TABLE docs ENABLE ROW LEVEL SECURITY;";

testWithPostgres("who may read all of a table may read its index, and nobody else", async () => {
  await using fixture = await createTenants();
  const { roles, rowsFor } = fixture;
  await fixture.build();
  await fixture.query("INSERT INTO docs VALUES (3, 'b', 'plan')");
  assert.deepEqual(await rowsFor(roles.tenant), [3, 3, 1]);
  assert.deepEqual(await rowsFor(roles.auditor), [3, 3, 1]);
  assert.deepEqual(await rowsFor(roles.other), none);
  // a right that is taken away counts at once, and a build takes those on the index too
  await fixture.query(`REVOKE SELECT ON docs FROM ${roles.tenant}`);
  assert.deepEqual(await rowsFor(roles.tenant), [0, 0, 0]);
  await fixture.build();
  assert.deepEqual(await rowsFor(roles.tenant), none);
  await assert.rejects(
    fixture.query(`SET ROLE ${roles.tenant}; TABLE postern.keyword_indexes`),
    /permission denied/,
  );
});

testWithPostgres(
  "row-level security that comes after an index closes it at once to whom policies hold",
  async () => {
    await using fixture = await createTenants();
    const { roles, rowsFor } = fixture;
    await fixture.build();
    await fixture.query("INSERT INTO docs VALUES (3, 'b', 'plan')");
    await fixture.query(enable);
    assert.deepEqual(await rowsFor(roles.tenant), [0, 0, 0]);
    assert.deepEqual(await rowsFor(roles.auditor), [3, 3, 1]);
    // whatever was granted
    await fixture.query(
      "GRANT USAGE ON SCHEMA postern TO PUBLIC; GRANT SELECT ON ALL TABLES IN SCHEMA postern TO PUBLIC",
    );
    assert.deepEqual(await rowsFor(roles.tenant), [0, 0, 0]);
    assert.deepEqual(await rowsFor(roles.other), [0, 0, 0]);
    assert.equal((await fixture.find()).kind, "postern");
    // the index follows its table on
    await fixture.query("DELETE FROM docs WHERE id = 3");
    assert.deepEqual(await rowsFor(roles.auditor), [2, 3, 0]);
    // a build that policies keep from the rows takes the rights away first
    await fixture.query("ALTER TABLE docs FORCE ROW LEVEL SECURITY");
    await assert.rejects(fixture.build(), /row-level security/);
    assert.deepEqual(await rowsFor(roles.tenant), none);
    assert.deepEqual(await rowsFor(roles.other), none);
    assert.deepEqual(await rowsFor(roles.auditor), [2, 3, 0]);
  },
);

testWithPostgres(
  "an index of a table with row-level security is for those alone whom no policy holds",
  async () => {
    await using fixture = await createTenants();
    const { roles, rowsFor } = fixture;
    await fixture.query(enable);
    await fixture.build();
    assert.deepEqual(await rowsFor(roles.tenant), none);
    assert.deepEqual(await rowsFor(roles.owner), [2, 3, 0]);
    assert.deepEqual(await rowsFor(roles.auditor), [2, 3, 0]);
    // no question of a role that policies hold looks for it
    assert.equal((await fixture.findAs(roles.auditor)).kind, "postern");
    await fixture.query(
      "GRANT USAGE ON SCHEMA postern TO PUBLIC; GRANT SELECT ON ALL TABLES IN SCHEMA postern TO PUBLIC",
    );
    assert.equal((await fixture.findAs(roles.tenant)).kind, "tsvector");
  },
);

testWithPostgres("ids that no index finds under a policy are looked for in one scan", async () => {
  await using fixture = await createTenants();
  const { roles } = fixture;
  for (const type of ["numeric", "varchar(9)"]) {
    await fixture.query(`CREATE TABLE "of ${type}" (id ${type} PRIMARY KEY, body text);
      INSERT INTO "of ${type}" SELECT n, 'apple ' || n FROM generate_series(1, 300) n;
      GRANT SELECT ON "of ${type}" TO ${roles.tenant}`);
    const table = { table: `"of ${type}"` };
    // built by a superuser, so that the tenant is no owner
    await fixture.buildAsSuperuser(table);
    const index = await fixture.find(table);
    const filter = verbatim("source.id::text LIKE '1_'");
    assert.deepEqual((await fixture.ask(index, "apple 17", { filter }))[0]?.id, "17");
    const { sql, parameters } = renderSql(keywordSearch(index, { question: "apple 17", limit: 5, filter }));
    const asked = sql.replaceAll(
      /\$(\d)/g,
      (_, place) => quoteLiteral(String(parameters[Number(place) - 1])),
    );
    const found = await fixture.query(`SET ROLE ${roles.tenant}; ${asked}`);
    assert.deepEqual(found[0]?.[0], "17");
    const plan = (await fixture.query(`SET ROLE ${roles.tenant}; EXPLAIN ${asked}`)).join("\n");
    assert.equal(plan.includes("hashed SubPlan"), type === "numeric", plan);
  }
});
