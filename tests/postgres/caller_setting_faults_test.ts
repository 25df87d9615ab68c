import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { silentLogger } from "../../src/core/logger.ts";
import { callerSettingFaults } from "../../src/postgres/caller_setting_faults.ts";
import { createDatabase } from "../../src/postgres/database.ts";
import { createStatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";

const { signal } = new AbortController();

/** A database as a login that is a member of one of two roles, without inheriting from it. */
async function createFixture() {
  await using opening = new AsyncDisposableStack();
  const admin = opening.use(await createTestDatabase());
  const suffix = randomBytes(4).toString("hex");
  const [login, tenant, stranger] = [
    `Login "ä" ${suffix}`,
    `Tenant ${suffix}`,
    `stranger_${suffix}`,
  ] as const;
  const quoted = `"Login ""ä"" ${suffix}"`;
  await admin.query(`CREATE ROLE ${quoted} LOGIN NOINHERIT; CREATE ROLE "${tenant}"; CREATE ROLE ${stranger};
    GRANT "${tenant}" TO ${quoted}`);
  opening.defer(async () => void await admin.query(`DROP ROLE ${quoted}, "${tenant}", ${stranger}`));
  const pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  opening.defer(() => pools.close());
  const options = { ...databaseOptions(admin.url), user: login };
  const database = createDatabase({
    options,
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  const stack = opening.move();
  return {
    admin,
    tenant,
    stranger,
    quoted,
    ofUsers: () => callerSettingFaults(database, { roleFromUser: true, sessionSettings: {} }, signal),
    faults: (allowedRoles: readonly string[], sessionSettings: Record<string, string> = {}) =>
      callerSettingFaults(database, { allowedRoles, sessionSettings }, signal),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

testWithPostgres("each allowed role that is not there or may not be taken is named", async () => {
  await using fixture = await createFixture();
  const { admin, tenant, stranger, quoted, faults } = fixture;
  assert.deepEqual(await faults([tenant]), []);
  const found = await faults([`no "such" ü`, tenant, stranger, "tenant_*"]);
  assert.deepEqual(found.map(({ path }) => path), [
    ["allowed_roles", 0],
    ["allowed_roles", 2],
    ["allowed_roles", 3],
  ]);
  assert.equal(found[0]?.message, 'PostgreSQL has no role "no "such" ü"');
  assert.match(found[0]?.remedy ?? "", /\nCREATE ROLE "no ""such"" ü" NOLOGIN;\n/);
  assert.match(
    found[1]?.message ?? "",
    /may not take the role "stranger_.*": it is no member that may set it$/,
  );
  const [[hasOption] = []] = await admin.query(
    "SELECT current_setting('server_version_num')::int >= 160000",
  );
  // a membership that lets nobody take the role is none
  if (hasOption === "t") {
    await admin.query(`GRANT ${stranger} TO ${quoted} WITH SET FALSE`);
    assert.equal((await faults([stranger])).length, 1);
  }
  assert.match(found[1]?.remedy ?? "", /^GRANT stranger_\w+ TO "Login ""ä"" \w+"(?: WITH SET TRUE)?;$/);
  await admin.query(found[1]?.remedy ?? "");
  assert.deepEqual(await faults([tenant, stranger]), []);
});

testWithPostgres(
  "each session setting that PostgreSQL refuses is named, and the others are not",
  async () => {
    await using fixture = await createFixture();
    const refused: [name: string, value: string, message: RegExp][] = [
      ["server_version", "1", /parameter "server_version" cannot be changed/],
      ["tenant", "{username}", /unrecognized configuration parameter "tenant"/],
      ["log_statement", "all", /permission denied to set parameter "log_statement"/],
      ["work_mem", "a lot", /invalid value for parameter "work_mem"/],
      ["transaction_read_only", "off", /read-write mode/],
    ];
    const taken = {
      "app.tenant": "{claim:tenant}",
      "request.jwt.claims": "{claims}",
      "App.fixed": "'; x",
      search_path: "{username}",
      statement_timeout: "{claim:timeout}",
      TimeZone: "UTC",
    };
    const settings = { ...Object.fromEntries(refused.map(([name, value]) => [name, value])), ...taken };
    const found = await fixture.faults([], settings);
    assert.deepEqual(found.map(({ path }) => path), refused.map(([name]) => ["session_settings", name]));
    for (const [index, [, , message]] of refused.entries()) {
      assert.match(found[index]?.message ?? "", message);
    }
  },
);

testWithPostgres("a login that inherits the policies of the roles of callers is told of", async () => {
  await using fixture = await createFixture();
  const { admin, tenant, quoted, ofUsers } = fixture;
  const [[version] = []] = await admin.query("SHOW server_version_num");
  const isByGrant = Number(version) >= 160_000;
  await admin.query(`CREATE TABLE notes (id int); CREATE POLICY own ON notes TO "${tenant}" USING (true)`);
  assert.deepEqual(await ofUsers(), []);
  await admin.query(`ALTER ROLE ${quoted} INHERIT`);
  if (isByGrant) await admin.query(`GRANT "${tenant}" TO ${quoted} WITH INHERIT TRUE`);
  const [fault] = await ofUsers();
  assert.deepEqual(fault?.path, ["role_from_user"]);
  assert.equal(
    fault?.message,
    `the login ${quoted} inherits the policies of role "${tenant}", and callers without a name read as the login`,
  );
  assert.match(
    fault?.remedy ?? "",
    isByGrant
      ? /^GRANT "Tenant \w+" TO "Login .*" WITH INHERIT FALSE, SET TRUE;$/
      : /\nALTER ROLE .* NOINHERIT;$/,
  );
  await admin.query(fault?.remedy ?? "");
  assert.deepEqual(await ofUsers(), []);
  // of no policy's, it shows nothing
  await admin.query(`DROP TABLE notes; ALTER ROLE ${quoted} INHERIT; GRANT "${tenant}" TO ${quoted}`);
  assert.deepEqual(await ofUsers(), []);
});
