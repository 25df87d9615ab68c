import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setupSql } from "../../../src/postgres/reader_role/setup_sql.ts";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  testWithPostgres,
} from "../../support/database.ts";
import { runProgram } from "../../support/server_process.ts";

const schema = `
CREATE TABLE users (id int PRIMARY KEY, name text, "Password" text);
CREATE VIEW user_list AS SELECT * FROM users;
CREATE VIEW user_names AS SELECT id, name FROM users;
CREATE VIEW of_the_view AS SELECT "Password" AS p FROM user_list;
CREATE TABLE secrets ("Password" text);
CREATE SCHEMA "odd -- ""schema""";
CREATE TABLE "odd -- ""schema"""."a
b" (x int);
INSERT INTO users VALUES (1, 'ann', 'hunter2');`;

async function setUp() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  await database.query(schema);
  const role = `reader_${randomBytes(4).toString("hex")}`;
  stack.defer(async () => {
    await database.query(`DROP OWNED BY ${role}`).catch(() => {});
    await runSql(requireTestDatabaseUrl(), `DROP ROLE IF EXISTS ${role}`);
  });
  const entry = databaseEntry("main", database.name);
  const folder = stack.use(
    await createConfigFolder(`llm: { excluded_columns: [password] }\ndatabases: [${entry}]`),
  );
  const asReader = stack.use(
    await createConfigFolder(
      `llm: { excluded_columns: [password] }\ndatabases: [${entry.replace(/user: \w+/, `user: ${role}`)}]`,
    ),
  );
  const moved = stack.move();
  return {
    database,
    role,
    setup: () => runProgram(["-config", folder.configFile, "-setup-role", role]),
    check: (...flags: string[]) => runProgram(["-config", asReader.configFile, "-check-role", ...flags]),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** What psql would run: without its own commands, which begin with a backslash. */
const statementsOf = (printed: string) => printed.replaceAll(/^\\.*$/gm, "");

testWithPostgres("-setup-role prints SQL that makes a reader in whom -check-role finds nothing", async () => {
  await using fixture = await setUp();
  const { database, role } = fixture;
  const { code, stdout, stderr } = await fixture.setup();
  assert.equal(code, 0, stderr);
  assert.deepEqual(await database.query(`SELECT FROM pg_roles WHERE rolname = '${role}'`), []);
  assert.match(stdout, new RegExp(`^GRANT SELECT \\(id, name\\) ON public\\.users TO ${role};$`, "m"));
  assert.match(
    stdout,
    /^-- Not granted: public\.of_the_view shows public\.user_list\.Password, public\.users\.Password\.$/m,
  );
  assert.match(stdout, /^-- Not granted: all columns of public\.secrets are left out\.$/m);
  await database.query(statementsOf(stdout));

  const query = (sql: string) => database.query(`SET ROLE ${role}; ${sql}`);
  assert.deepEqual(await query("SELECT id, name FROM users"), [["1", "ann"]]);
  assert.deepEqual(await query("SELECT * FROM user_names"), [["1", "ann"]]);
  assert.deepEqual(await query('SELECT * FROM "odd -- ""schema"""."a\nb"'), []);
  for (const relation of ["users", "user_list", "of_the_view", "secrets"]) {
    await assert.rejects(query(`SELECT * FROM ${relation}`), /permission denied/, relation);
  }
  const [settings] = await database.query(
    `SELECT array_to_string(setconfig, ' ') FROM pg_db_role_setting WHERE setrole = '${role}'::regrole`,
  );
  assert.match(
    String(settings),
    /default_transaction_read_only=on statement_timeout=30000 .*temp_file_limit=1GB/,
  );

  await database.query(`REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC`);
  const checked = await fixture.check();
  assert.deepEqual(
    [checked.stdout, checked.code],
    [`main: the role ${role}: may only read\n`, 0],
    checked.stderr,
  );
});

const grants: [sql: (role: string) => string, right: RegExp][] = [
  [(role) => `ALTER ROLE ${role} BYPASSRLS`, /has the attribute BYPASSRLS/],
  [(role) => `GRANT pg_read_server_files TO ${role}`, /member of the role pg_read_server_files/],
  [(role) => `GRANT INSERT, UPDATE ON users TO ${role}`, /may INSERT, UPDATE on public\.users/],
  [
    (role) => `GRANT UPDATE (id, name) ON user_names TO ${role}`,
    /may UPDATE \(id, name\) on public\.user_names/,
  ],
  [(role) => `GRANT CREATE ON SCHEMA public TO ${role}`, /create objects in the schema public/],
  [(role) => `CREATE SEQUENCE s; GRANT USAGE ON SEQUENCE s TO ${role}`, /advance the sequence public\.s/],
  [(role) => `ALTER TABLE secrets OWNER TO ${role}`, /owns public\.secrets/],
  [(role) => `GRANT SELECT ON users TO ${role}`, /excluded column public\.users\."Password"/],
  [
    (role) => `GRANT SELECT ON of_the_view TO ${role}`,
    /excluded column public\.users\.Password through the view public\.of_the_view/,
  ],
  [
    () => "CREATE FUNCTION leak() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT ''x'''",
    /may call leak\(\), which runs with its owner's rights/,
  ],
  [(role) => `GRANT EXECUTE ON FUNCTION pg_ls_dir(text) TO ${role}`, /may call pg_ls_dir\(text\)/],
];

testWithPostgres("-check-role names each right beyond reading, and what takes it away", async () => {
  await using fixture = await setUp();
  const { database, role } = fixture;
  await database.query(statementsOf((await fixture.setup()).stdout));
  await database.query(`REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC`);
  for (const [sql] of grants) await database.query(sql(role));
  const { stdout, code, stderr } = await fixture.check();
  assert.deepEqual([code, stderr], [1, ""]);
  for (const [, right] of grants) assert.match(stdout, right);

  const [main] = JSON.parse((await fixture.check("-json")).stdout);
  assert.deepEqual([main.database, main.role], ["main", role]);
  const remedies: string[] = main.excess.map(({ remedy }: { remedy: string }) => remedy);
  for (const remedy of remedies.filter((remedy) => !remedy.includes("…"))) await database.query(remedy);
  await database.query("ALTER TABLE secrets OWNER TO CURRENT_USER");
  const after = await fixture.check();
  assert.deepEqual([after.stdout, after.code], [`main: the role ${role}: may only read\n`, 0]);
});

Deno.test("psql's own command in the SQL of -setup-role ends with its line, and connects to that server alone", () => {
  const printed = (database: string) =>
    setupSql({
      role: "reader",
      options: { name: "main", database, hosts: [{ host: "db", port: 5432 }], statementTimeoutMs: 1_000 },
      relations: [],
      isMade: false,
    });
  const commands = (database: string) => printed(database).match(/^\\.*$/gm);
  assert.deepEqual(commands(`a"b \`touch x\` \\! touch x`), ['\\connect "a""b `touch x` \\! touch x"']);
  assert.deepEqual(commands("host=evil 'q\\"), [
    `\\connect -reuse-previous=on "dbname='host=evil \\'q\\\\'"`,
  ]);
  assert.deepEqual(commands('postgres://"evil"/x'), [
    `\\connect -reuse-previous=on "dbname='postgres://""evil""/x'"`,
  ]);
  for (const database of ["a\n\\! touch x", "a\r\\! touch x"]) {
    assert.throws(() => printed(database), /psql cannot connect to "a.*, whose name holds a line end$/);
  }
});

Deno.test("-setup-role and -check-role say what is missing", async () => {
  await using folder = await createConfigFolder("databases: []");
  const run = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
  const none = await run("-check-role");
  assert.deepEqual([none.code, none.stderr], [
    1,
    "postern: Cannot look at a role: the configuration has no databases\n",
  ]);
  const unnamed = await run("-setup-role", "");
  assert.equal(unnamed.code, 1);
  assert.match(unnamed.stderr, /-setup-role expects a role's name/);
});
