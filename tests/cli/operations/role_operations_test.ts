import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { quoteIdentifier, quoteLiteral } from "../../../src/postgres/sql_text.ts";
import { setupSql } from "../../../src/postgres/reader_role/setup_sql.ts";
import { setUpSql } from "../../../src/state/postgres_engine.ts";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  testWithPostgres,
} from "../../support/database.ts";
import { runProgram, startServer } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

const excluded = "llm: { excluded_columns: [password, cards.number] }";

const schema = `
CREATE TABLE users (id int PRIMARY KEY, name text, "Password" text);
CREATE VIEW user_list AS SELECT * FROM users;
CREATE VIEW user_names AS SELECT id, name FROM users;
CREATE VIEW of_the_view AS SELECT "Password" AS p FROM user_list;
CREATE TABLE secrets ("Password" text);
CREATE VIEW whole_rows AS SELECT id, row_to_json(u) FROM users u;
CREATE VIEW joined_rows AS SELECT row_to_json(j) FROM (users JOIN user_names USING (id)) j;
CREATE VIEW some_columns AS SELECT to_json(s) FROM (SELECT id, name FROM users) s;
CREATE VIEW own_rights WITH (security_invoker = 1) AS SELECT "Password" AS p FROM users;
CREATE TABLE cards (id int, number text, low text GENERATED ALWAYS AS (lower(number)) STORED) PARTITION BY RANGE (id);
CREATE TABLE cards_1 PARTITION OF cards FOR VALUES FROM (0) TO (10);
CREATE SCHEMA "odd -- ""schema""";
CREATE TABLE "odd -- ""schema"""."a
b" (x int);
INSERT INTO users VALUES (1, 'ann', 'hunter2');
INSERT INTO cards VALUES (1, 'ABC');`;

/** A role's name has letters of both kinds, a quote and a space. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  await database.query(schema);
  const name = `Lese "Rolle" ä ${randomBytes(4).toString("hex")}`;
  const role = quoteIdentifier(name);
  stack.defer(async () => {
    await database.query(`DROP OWNED BY ${role}`).catch(() => {});
    await runSql(requireTestDatabaseUrl(), `DROP ROLE IF EXISTS ${role}`);
  });
  const entry = databaseEntry("main", database.name);
  const folder = stack.use(
    await createConfigFolder(`${excluded}\ndatabases: [${entry}]`),
  );
  const asReader = stack.use(
    await createConfigFolder(
      `${excluded}\ndatabases: [${entry.replace(/user: \w+/, `user: ${JSON.stringify(name)}`)}]`,
    ),
  );
  const moved = stack.move();
  return {
    database,
    name,
    role,
    asReader,
    setup: () => runProgram(["-config", folder.configFile, "-setup-role", name]),
    check: (...flags: string[]) => runProgram(["-config", asReader.configFile, "-check-role", ...flags]),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** What psql would run: without its own commands, which begin with a backslash. */
const statementsOf = (printed: string) => printed.replaceAll(/^\\.*$/gm, "");

testWithPostgres("-setup-role prints SQL that makes a reader in whom -check-role finds nothing", async () => {
  await using fixture = await setUp();
  const { database, name, role } = fixture;
  const { code, stdout, stderr } = await fixture.setup();
  assert.equal(code, 0, stderr);
  assert.deepEqual(await database.query(`SELECT FROM pg_roles WHERE rolname = ${quoteLiteral(name)}`), []);
  assert.match(stdout, new RegExp(`^GRANT SELECT \\(id, name\\) ON public\\.users TO ${role};$`, "m"));
  assert.match(
    stdout,
    /^-- Not granted: public\.of_the_view shows public\.user_list\.Password, public\.users\.Password\.$/m,
  );
  // PostgreSQL itself refuses what a view with the reader's own rights shows
  assert.match(stdout, /^GRANT SELECT ON public\.own_rights TO /m);
  assert.match(stdout, /^-- Not granted: all columns of public\.secrets are left out\.$/m);
  await database.query(statementsOf(stdout));
  // what was granted before ends when it is run again
  await database.query(`GRANT SELECT ON users, whole_rows TO ${role}`);
  await database.query(statementsOf(stdout));

  const query = (sql: string) => database.query(`SET ROLE ${role}; ${sql}`);
  assert.deepEqual(await query("SELECT id, name FROM users"), [["1", "ann"]]);
  assert.deepEqual(await query("SELECT * FROM user_names"), [["1", "ann"]]);
  assert.deepEqual(await query('SELECT * FROM "odd -- ""schema"""."a\nb"'), []);
  assert.deepEqual(await query("SELECT * FROM some_columns"), [['{"id":1,"name":"ann"}']]);
  assert.deepEqual(await query("SELECT cards.id, part.id FROM cards, cards_1 part"), [["1", "1"]]);
  const refused = ["users", "user_list", "of_the_view", "secrets", "whole_rows", "joined_rows", "own_rights"];
  const ofCards = ["cards", "cards_1"].flatMap((table) =>
    ["number", "low"].map((name) => `(SELECT ${name} FROM ${table}) AS x`)
  );
  for (const relation of [...refused, ...ofCards]) {
    await assert.rejects(query(`SELECT * FROM ${relation}`), /permission denied/, relation);
  }
  const [settings] = await database.query(
    `SELECT array_to_string(setconfig, ' ') FROM pg_db_role_setting WHERE setrole = ${
      quoteLiteral(role)
    }::regrole`,
  );
  assert.match(
    String(settings),
    /default_transaction_read_only=on statement_timeout=30000 .*temp_file_limit=1GB/,
  );

  await database.query(`REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC`);
  const checked = await fixture.check();
  assert.deepEqual(
    [checked.stdout, checked.code],
    [`main: the role ${name}: may only read\n`, 0],
    checked.stderr,
  );
});

testWithPostgres(
  "-setup-role, -check-role, -doctor and a start name excluded columns that no database has",
  async () => {
    await using fixture = await setUp();
    const config = await Deno.readTextFile(fixture.asReader.configFile);
    const wrong = config.replace("[password, cards.number]", "[passwort, cards.*, shop.number]")
      .replace(/user: ("[^\n]*?"|\w+)(?=,)/, "user: postgres");
    await fixture.asReader.write(wrong);
    const told = [
      'llm.excluded_columns[0] "passwort" matches no column of any database; did you mean "Password"?',
      'llm.excluded_columns[2] "shop.number" matches no column of any database; did you mean "number"?',
    ];
    const run = (...args: string[]) => runProgram(["-config", fixture.asReader.configFile, ...args]);
    const setup = (await run("-setup-role", "reader")).stdout;
    const before = setup.slice(0, setup.indexOf("GRANT"));
    assert.deepEqual(before.match(/^-- Warning: .*$/gm), told.map((text) => `-- Warning: ${text}`), setup);
    for (const stdout of [(await fixture.check()).stdout, (await run("-doctor")).stdout]) {
      for (const text of told) assert.ok(stdout.includes(text), stdout);
      assert.doesNotMatch(stdout, /excluded_columns\[1\]/);
    }
    await using server = await startServer(
      ["-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", fixture.asReader.configFile],
    );
    await waitUntil("the start names them", () => told.every((text) => server.stderr().includes(text)));
  },
);

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
  [() => "GRANT DELETE ON user_names TO PUBLIC", /may DELETE on public\.user_names/],
  [() => "GRANT SELECT ON cards_1 TO PUBLIC", /excluded column public\.cards_1\.low/],
  [(role) => `GRANT pg_read_all_data TO ${role}`, /member of the role pg_read_all_data/],
  [
    (role) => `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT ON TABLES TO ${role}`,
    /will have INSERT on the tables that are made later by \w+ IN SCHEMA public/,
  ],
  [
    () => "SELECT lo_create(4242); GRANT UPDATE ON LARGE OBJECT 4242 TO PUBLIC",
    /change the large object 4242/,
  ],
  [() => "CREATE PROCEDURE act() LANGUAGE sql SECURITY DEFINER AS ''", /may call act\(\)/],
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
  const { database, name, role } = fixture;
  await database.query(statementsOf((await fixture.setup()).stdout));
  await database.query(`REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC`);
  for (const [sql] of grants) await database.query(sql(role));
  const { stdout, code, stderr } = await fixture.check();
  assert.deepEqual([code, stderr], [1, ""]);
  for (const [, right] of grants) assert.match(stdout, right);

  const [main] = JSON.parse((await fixture.check("-json")).stdout);
  assert.deepEqual([main.database, main.role], ["main", name]);
  const remedies: string[] = main.excess.map(({ remedy }: { remedy: string }) => remedy);
  for (const remedy of remedies.filter((remedy) => !remedy.includes("…"))) await database.query(remedy);
  await database.query("ALTER TABLE secrets OWNER TO CURRENT_USER");
  const after = await fixture.check();
  assert.deepEqual([after.stdout, after.code], [`main: the role ${name}: may only read\n`, 0]);
});

testWithPostgres("-check-role looks at the roles that callers read as, and at their settings", async () => {
  await using fixture = await setUp();
  const { database, name, role, asReader } = fixture;
  const tenant = `tenant_${randomBytes(4).toString("hex")}`;
  await database.query(statementsOf((await fixture.setup()).stdout));
  await database.query(`REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC;
    CREATE ROLE ${tenant}; ALTER ROLE ${role} NOINHERIT; GRANT ${tenant} TO ${role}; GRANT INSERT ON users TO ${tenant}`);
  const config = await Deno.readTextFile(asReader.configFile);
  const check = async (settings: string) => {
    await asReader.write(`${config.replace("sslmode:", `${settings}, sslmode:`)}
http: { auth: { identity_provider: { issuer: "https://login.example.com", audience: postern } } }
`);
    return await fixture.check();
  };
  const ofTenant = `main: the role ${tenant}: 1 right beyond reading
  may INSERT on public.users
    REVOKE INSERT ON public.users FROM ${tenant}, PUBLIC;
`;
  const ofLogin = `main: the role ${name}: may only read\n`;
  try {
    const byClaim = await check(
      `role_from_claim: role, allowed_roles: [${tenant}, no_role], session_settings: { TimeZone: nowhere }`,
    );
    assert.deepEqual([byClaim.stdout.replaceAll(/^ {4}(?:--|CREATE|GRANT).*\n/gm, ""), byClaim.code], [
      `${ofLogin}  databases[0].allowed_roles[1]: PostgreSQL has no role "no_role"
  databases[0].session_settings.TimeZone: PostgreSQL refuses the setting: invalid value for parameter "TimeZone": "nowhere"
${ofTenant}`,
      1,
    ]);
    const byName = await check("role_from_user: true");
    assert.deepEqual([byName.stdout, byName.code], [ofLogin + ofTenant, 1]);
    await database.query(`GRANT pg_read_server_files TO ${role}`);
    const ofFiles = await check("role_from_user: true");
    assert.match(ofFiles.stdout, /is a member of the role pg_read_server_files/);
    const byNone = await check("max_rows: 10");
    assert.match(byNone.stdout, new RegExp(`is a member of the role ${tenant}, and may do what that may`));
  } finally {
    await database.query(`DROP OWNED BY ${tenant}; DROP ROLE ${tenant}`);
  }
});

Deno.test("psql's own command in the SQL of -setup-role ends with its line, and connects to that server alone", () => {
  const printed = (database: string) =>
    setupSql({
      role: "reader",
      options: { name: "main", database, hosts: [{ host: "db", port: 5432 }], statementTimeoutMs: 1_000 },
      relations: [],
      isMade: false,
      takesRoles: false,
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

testWithPostgres(
  "-setup-role prints a login that inherits nothing where it takes callers' roles",
  async () => {
    await using database = await createTestDatabase();
    for (
      const [settings, attributes] of [["role_from_user: true", "LOGIN NOINHERIT"], ["max_rows: 9", "LOGIN"]]
    ) {
      const entry = databaseEntry("main", database.name, settings);
      await using folder = await createConfigFolder(`databases: [${entry}]`);
      const { stdout } = await runProgram(["-config", folder.configFile, "-setup-role", "reader"]);
      assert.match(stdout, new RegExp(`CREATE ROLE reader ${attributes} NOSUPERUSER `));
      assert.equal(
        /^-- {3}GRANT … TO reader WITH INHERIT FALSE, SET TRUE;$/m.test(stdout),
        attributes !== "LOGIN",
      );
    }
  },
);

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
  const reserved = await run("-setup-role", "pg_reader");
  assert.match(
    reserved.stderr,
    /-setup-role expects a role's name.*not none, public or one that begins with pg_/,
  );
});

testWithPostgres(
  "-setup-role leaves the state of servers out, and -check-role tells of a role that may read it",
  async () => {
    await using fixture = await setUp();
    const { database, role } = fixture;
    const stateRole = `postern_state_${randomBytes(4).toString("hex")}`;
    await database.query(setUpSql(stateRole));
    try {
      const { code, stdout, stderr } = await fixture.setup();
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stdout, /postern_state/);
      await database.query(statementsOf(stdout));
      await assert.rejects(
        database.query(`SET ROLE ${role}; SELECT * FROM postern_state.records`),
        /permission denied/,
      );
      await database.query(
        `REVOKE TEMPORARY ON DATABASE "${database.name}" FROM PUBLIC;
       GRANT USAGE ON SCHEMA postern_state TO ${role}; GRANT SELECT ON postern_state.records TO ${role}`,
      );
      const told = await fixture.check();
      assert.equal(told.code, 1);
      assert.match(
        told.stdout,
        /may read postern_state\.records, where sessions, grants and keys of servers are/,
      );
      const remedy = /REVOKE ALL ON SCHEMA postern_state FROM .*;/.exec(told.stdout)?.[0];
      await database.query(remedy ?? "");
      assert.equal((await fixture.check()).code, 0);
    } finally {
      await database.query(`DROP OWNED BY ${stateRole}; DROP ROLE ${stateRole}`);
    }
  },
);
