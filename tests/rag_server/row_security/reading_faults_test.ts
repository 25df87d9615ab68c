import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { runSql, testDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "../keyword/fixture.ts";
import { policyCondition } from "../../../src/rag_server/row_security/isolation_faults.ts";
import { readingFaults } from "../../../src/app/checks/database_checks.ts";

const { signal } = new AbortController();

testWithPostgres("a role of allowed_roles that may not read a table is told with the GRANT", async () => {
  const suffix = randomBytes(4).toString("hex");
  const [reads, none] = [`reads_${suffix}`, `none_${suffix}`];
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void await runSql(testDatabaseUrl ?? "", `DROP ROLE IF EXISTS ${reads}, ${none}`));
  const fixture = stack.use(
    await createKeywordFixture(`CREATE ROLE ${reads}; CREATE ROLE ${none};
    CREATE SCHEMA app; CREATE TABLE app.docs (id int, body text);
    GRANT USAGE ON SCHEMA app TO ${reads}; GRANT SELECT (body) ON app.docs TO ${reads}`),
  );
  const faultsOf = (changes: object) =>
    readingFaults(fixture.database, ["app.docs", "absent"], {
      roleFromClaim: "role",
      allowedRoles: [reads, none, "no_such_role"],
      ...changes,
    }, signal);
  const [fault, ...others] = await faultsOf({});
  assert.deepEqual([fault, others], [{
    message: `role ${none} of allowed_roles may not read app.docs`,
    remedy: `GRANT USAGE ON SCHEMA app TO ${none};\nGRANT SELECT ON app.docs TO ${none};`,
  }, []]);
  await fixture.query(fault?.remedy ?? "");
  assert.deepEqual(await faultsOf({}), []);
  await fixture.query(`DROP OWNED BY ${reads}, ${none}`);
});

const conditions: readonly [Record<string, string>, string][] = [
  [
    { "app.on": "yes", "app.tenant": "{claim:tenant}" },
    "tenant = nullif(current_setting('app.tenant', true), '')",
  ],
  [{ "app.o'k": "{claim:Org}" }, `"Org" = nullif(current_setting('app.o''k', true), '')`],
  [
    { "request.jwt.claims": "{claims}" },
    "tenant = nullif(current_setting('request.jwt.claims', true), '')::json ->> 'tenant'",
  ],
  [{ "app.user": "{username}" }, "owner = nullif(current_setting('app.user', true), '')"],
  [{}, "owner = current_user"],
];
for (const [sessionSettings, condition] of conditions) {
  Deno.test(`a policy for ${JSON.stringify(sessionSettings)} could ask ${condition}`, () => {
    assert.equal(policyCondition({ sessionSettings }), condition);
  });
}
