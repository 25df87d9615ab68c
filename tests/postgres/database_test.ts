import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import type { Principal } from "../../src/core/principal.ts";
import { pg } from "../../src/postgres/connection.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { createDatabase, type ReadRequest } from "../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";
import { startCountingRelay } from "../support/network/counting_relay.ts";
import { waitUntil } from "../support/wait_until.ts";

const local = { kind: "local" } as const;

testWithPostgres("read() returns columns and rows as PostgreSQL writes them", async () => {
  await using fixture = await createFixture();
  const read = await fixture.read("SELECT 1 AS a, NULL AS b, '{1,2}'::int[] AS c, 1.50 AS d, true AS e");
  assert.ok(read.ok);
  assert.deepEqual(read.columns, [
    { name: "a", typeOid: 23 },
    { name: "b", typeOid: 25 },
    { name: "c", typeOid: 1007 },
    { name: "d", typeOid: 1700 },
    { name: "e", typeOid: 16 },
  ]);
  assert.deepEqual(read.rows, [["1", null, "{1,2}", "1.50", "t"]]);
  assert.equal(read.truncatedBy, undefined);
});

testWithPostgres("read() returns the rows of SHOW, EXPLAIN and a query without columns or rows", async () => {
  await using fixture = await createFixture();
  const show = await fixture.read("SHOW statement_timeout");
  assert.deepEqual(show.ok && [show.columns, show.rows], [[{ name: "statement_timeout", typeOid: 25 }], [[
    "30s",
  ]]]);
  const explain = await fixture.read("EXPLAIN (COSTS off) SELECT 1");
  assert.deepEqual(explain.ok && explain.rows, [["Result"]]);
  const analyze = await fixture.read("EXPLAIN (ANALYZE, FORMAT json) SELECT 1");
  assert.ok(analyze.ok && analyze.rows[0]?.[0]?.includes("Execution Time"));
  const nothing = await fixture.read("SELECT 1 AS a WHERE false");
  assert.deepEqual(nothing.ok && [nothing.columns.length, nothing.rows], [1, []]);
  const bare = await fixture.read("SELECT");
  assert.deepEqual(bare.ok && [bare.columns, bare.rows], [[], [[]]]);
});

testWithPostgres("read() stops at the bound on rows, and says so only where there are more", async () => {
  await using fixture = await createFixture({ maxRows: 250 });
  for (
    const [rows, kept, truncatedBy] of [[250, 250, undefined], [251, 250, "rows"], [
      100_000,
      250,
      "rows",
    ]] as const
  ) {
    const read = await fixture.read(`SELECT generate_series(1, ${rows})`);
    assert.deepEqual(read.ok && [read.rows.length, read.truncatedBy], [kept, truncatedBy]);
  }
  const few = await fixture.read("SELECT generate_series(1, 10)", { maxRows: 3 });
  assert.deepEqual(few.ok && [few.rows, few.truncatedBy], [[["1"], ["2"], ["3"]], "rows"]);
  const more = await fixture.read("SELECT generate_series(1, 1000)", { maxRows: 1_000 });
  assert.equal(more.ok && more.rows.length, 250);
});

testWithPostgres("read() leaves out the rows before the offset", async () => {
  await using fixture = await createFixture({ maxRows: 100 });
  const read = await fixture.read("SELECT generate_series(1, 5000)", { offset: 4_950 });
  assert.deepEqual(read.ok && [read.rows.length, read.rows[0], read.truncatedBy], [
    50,
    ["4951"],
    undefined,
  ]);
  const beyond = await fixture.read("SELECT 1", { offset: 5 });
  assert.deepEqual(beyond.ok && beyond.rows, []);
});

testWithPostgres(
  "read() counts no bytes of the rows before the offset, however few it may return",
  async () => {
    await using fixture = await createFixture({ maxBytes: 50 });
    for (const [offset, maxRows] of [[60, 10], [60, 1_000], [200, 10], [200, 1_000]] as const) {
      const read = await fixture.read("SELECT generate_series(1, 5000)", { offset, maxRows });
      assert.deepEqual(
        read.ok && [read.rows.length, read.rows[0], read.truncatedBy],
        [offset === 60 ? 4 : 3, [String(offset + 1)], "bytes"],
      );
    }
  },
);

testWithPostgres("read() stops at the bound on bytes", async () => {
  await using fixture = await createFixture({ maxBytes: 50_000 });
  const wide = await fixture.read("SELECT repeat('x', 9000) FROM generate_series(1, 1000)");
  assert.deepEqual(wide.ok && [wide.rows.length, wide.truncatedBy], [5, "bytes"]);
  const huge = await fixture.read("SELECT repeat('x', 45000) FROM generate_series(1, 100000)");
  assert.deepEqual(huge.ok && [huge.rows.length, huge.truncatedBy], [1, "bytes"]);
  const one = await fixture.read("SELECT repeat('x', 60000)");
  assert.deepEqual(one, {
    ok: false,
    error: {
      kind: "failed",
      message: "Cannot return a row: it is longer than 48.8 KiB",
      hint: "Select fewer columns, or shorten long ones with left(column, 1000).",
    },
  });
  const larger = await fixture.read(
    "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 50000)",
  );
  assert.equal(larger.ok ? "" : larger.error.message, "Cannot return a row: it is longer than 48.8 KiB");
  assert.ok((await fixture.read("SELECT 1")).ok);
});

testWithPostgres("read() tells PostgreSQL's error with its code, place and hint", async () => {
  await using fixture = await createFixture();
  await fixture.database.query("CREATE TABLE orders (id int)");
  assert.deepEqual(await fixture.read("SELECT 'é😀',\n  idd\nFROM orders"), {
    ok: false,
    error: {
      kind: "failed",
      message: 'column "idd" does not exist',
      sqlState: "42703",
      position: 16,
      line: 2,
      hint: 'Perhaps you meant to reference the column "orders.id".',
    },
  });
  const syntax = await fixture.read("SELECT 1\nFRM orders x y");
  assert.deepEqual(syntax.ok ? {} : syntax.error, {
    kind: "failed",
    message: 'syntax error at or near "orders"',
    sqlState: "42601",
    position: 14,
    line: 2,
  });
});

testWithPostgres("read() refuses what is no read, before and after looking at the catalogs", async () => {
  await using fixture = await createFixture();
  await fixture.database.query(
    "CREATE FUNCTION touch() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
  );
  for (const sql of ["DELETE FROM t", "SELECT touch()"]) {
    const read = await fixture.read(sql);
    assert.equal(read.ok ? "ran" : read.error.kind, "refused");
  }
});

testWithPostgres(
  "read() binds the values that come with a guarded statement, and nothing in them is SQL",
  async () => {
    await using fixture = await createFixture();
    const value = "x'; DROP TABLE t; --";
    const read = await fixture.read("SELECT $1 || $2", { parameters: [value, null] });
    assert.deepEqual(read.ok && read.rows, [[null]]);
    const bound = await fixture.read("SELECT $1, $2::int + 1", { parameters: [value, "41"] });
    assert.deepEqual(bound.ok && bound.rows, [[value, "42"]]);
    const missing = await fixture.read("SELECT $1, $2", { parameters: [value] });
    assert.deepEqual(!missing.ok && [missing.error.kind, missing.error.message], [
      "refused",
      "$2 has no value here; there are values up to $1",
    ]);
  },
);

testWithPostgres("read() runs our own statements with parameters, read-only all the same", async () => {
  await using fixture = await createFixture();
  const read = await fixture.read("SELECT $1::text || $2", { trusted: true, parameters: ["a", "b"] });
  assert.deepEqual(read.ok && read.rows, [["ab"]]);
  const write = await fixture.read("CREATE TABLE t (a int)", { trusted: true });
  assert.equal(write.ok ? "ran" : write.error.sqlState, "25006");
});

testWithPostgres("read() ends a statement at the timeout", async () => {
  await using fixture = await createFixture({ statementTimeoutMs: 200 });
  const read = await fixture.read("SELECT count(*) FROM generate_series(1, 1000000000)");
  assert.deepEqual(read, {
    ok: false,
    error: { kind: "timeout", message: "canceling statement due to statement timeout", sqlState: "57014" },
  });
  const sleep = await fixture.read("SELECT pg_sleep(1)");
  assert.equal(
    sleep.ok ? "" : sleep.error.message,
    "pg_sleep() may not wait longer than the statement timeout of 0.2 s",
  );
  const parts = await fixture.read("SELECT pg_sleep(0.01) FROM generate_series(1, 5000)");
  assert.equal(parts.ok ? "" : parts.error.kind, "timeout");
});

testWithPostgres("read() cancels the statement in the server when its caller goes away", async () => {
  await using fixture = await createFixture();
  const caller = new AbortController();
  const reading = fixture.read("SELECT pg_sleep(25), 'find me'", { signal: caller.signal });
  const running =
    "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%find me%' AND state = 'active' AND pid <> pg_backend_pid()";
  await waitUntil("it runs", async () => (await fixture.database.query(running)).length === 1);
  caller.abort();
  const read = await reading;
  assert.equal(read.ok ? "" : read.error.kind, "cancelled");
  await waitUntil("nothing runs", async () => (await fixture.database.query(running)).length === 0);
  assert.ok((await fixture.read("SELECT 1")).ok);
  const gone = await fixture.read("SELECT 1", { signal: AbortSignal.abort() });
  assert.equal(gone.ok ? "" : gone.error.kind, "cancelled");
});

testWithPostgres("read() takes the caller's role and settings for the statement alone", async () => {
  await using fixture = await createFixture({
    roleFromUser: true,
    sessionSettings: { "app.username": "<{username}>" },
  });
  const role = `postern_alice_${crypto.randomUUID().slice(0, 8)}`;
  await fixture.database.query(`CREATE ROLE "${role}"`);
  try {
    const alice: Principal = { kind: "session", id: "s1", username: role };
    const asAlice = await fixture.read("SELECT current_user, current_setting('app.username')", {
      principal: alice,
    });
    assert.deepEqual(asAlice.ok && asAlice.rows, [[role, `<${role}>`]]);
    const asLocal = await fixture.read("SELECT current_user, current_setting('app.username')");
    assert.deepEqual(asLocal.ok && asLocal.rows, [["postgres", "<local>"]]);
    const unknown = await fixture.read("SELECT 1", { principal: { kind: "token", id: "no such role" } });
    assert.equal(unknown.ok ? "" : unknown.error.message, 'role "no such role" does not exist');
    const none = fixture.read("SELECT 1", { principal: { ...alice, username: "none" } });
    await assert.rejects(none, { code: "forbidden" });
    // PostgreSQL would take the role whose name the first 63 bytes are
    const long = `${role}${"x".repeat(63 - role.length)}`;
    await fixture.database.query(`CREATE ROLE "${long}"`);
    const cut = fixture.read("SELECT current_user", { principal: { ...alice, username: `${long}y` } })
      .finally(() => fixture.database.query(`DROP ROLE "${long}"`));
    await assert.rejects(cut, /longer than the 63 bytes/);
  } finally {
    await fixture.database.query(`DROP ROLE "${role}"`);
  }
});

testWithPostgres(
  "read() is not fooled by a role whose strings have backslashes or that speaks another encoding",
  async () => {
    await using fixture = await createFixture();
    await fixture.database.query(`
    CREATE TABLE loot (a int);
    ALTER DATABASE ${fixture.database.name} SET standard_conforming_strings = off;
    ALTER DATABASE ${fixture.database.name} SET client_encoding = 'SJIS'`);
    const read = await fixture.read(
      "SELECT '\\', 'é', current_setting('standard_conforming_strings'), length('表')",
    );
    assert.deepEqual(read.ok && read.rows, [["\\", "é", "on", "1"]]);
  },
);

testWithPostgres(
  "read() counts each statement of a caller, with its rows and the bytes that they take",
  async () => {
    const counted: unknown[] = [];
    const quotas: NonNullable<Parameters<typeof createDatabase>[0]["quotas"]> = {
      isOn: true,
      beginStatement: ({ kind }) => void counted.push(kind),
      read: ({ kind }, rows, bytes) => void counted.push([kind, rows, bytes]),
    };
    await using fixture = await createFixture({}, quotas);
    const sql = "SELECT repeat('x', n) FROM generate_series(1, 3) AS n";
    const read = await fixture.read(sql);
    assert.ok(read.ok && read.bytes >= 6, JSON.stringify(read));
    assert.deepEqual(counted, ["local", ["local", 3, read.bytes]]);
    await fixture.read(sql, { trusted: true });
    assert.equal(counted.length, 2);
  },
);

testWithPostgres("read() sets a caller's role and settings without a round trip of their own", async () => {
  await using admin = await createTestDatabase();
  await using relay = await startCountingRelay(new URL(admin.url));
  const role = `caller_${crypto.randomUUID().slice(0, 8)}`;
  await admin.query(`CREATE ROLE "${role}"`);
  try {
    const principal = { kind: "session", id: "s", username: role } as const;
    const hosts = [{ host: "127.0.0.1", port: relay.port }];
    const sql = "SELECT current_user, current_setting('app.caller', true)";
    const takes = async (changes: Partial<DatabaseOptions>) => {
      await using fixture = await createFixture({ hosts, database: admin.name, ...changes });
      await fixture.read(sql, { principal });
      const before = relay.roundTrips();
      const read = await fixture.read(sql, { principal });
      return { rows: read.ok && read.rows, roundTrips: relay.roundTrips() - before };
    };
    const { roundTrips } = await takes({});
    assert.ok(roundTrips > 0);
    const sessionSettings = { "app.caller": "{username}" };
    assert.deepEqual(await takes({ roleFromUser: true, sessionSettings }), {
      rows: [[role, role]],
      roundTrips,
    });
  } finally {
    await admin.query(`DROP ROLE "${role}"`);
  }
});

testWithPostgres("read() shows no claim and no role of a caller in pg_stat_activity", async () => {
  await using fixture = await createFixture({
    roleFromClaim: "role",
    allowedRoles: ["tenant_of_globex"],
    sessionSettings: {
      "app.tenant": "{claim:tenant}",
      "request.jwt.claims": "{claims}",
      default_text_search_config: "pg_catalog.simple",
    },
  });
  const principal: Principal = {
    kind: "issuer",
    issuer: "https://login.example.com",
    subject: "u1",
    groups: [],
    claims: { tenant: "globex", role: "tenant_of_globex" },
  };
  const holder = new pg.Client({ connectionString: fixture.database.url });
  await holder.connect();
  try {
    // what looks up a text search configuration waits, and its statement is seen
    await holder.query("BEGIN; LOCK pg_catalog.pg_ts_config IN ACCESS EXCLUSIVE MODE");
    const reading = fixture.read("SELECT 1", { principal });
    let seen = "";
    await waitUntil("the transaction's opening is seen", async () => {
      const rows = await fixture.database.query(
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      seen = String(rows[0]?.[0] ?? "");
      return seen !== "";
    });
    await holder.query("ROLLBACK");
    await reading;
    assert.match(seen, /set_config\('app\.tenant', \$1, true\).*set_config\('role', \$4, true\)/);
    assert.doesNotMatch(seen, /globex/);
  } finally {
    await holder.end();
  }
});

testWithPostgres("ping() and warnings() say what is wrong with a database", async () => {
  await using fixture = await createFixture();
  await fixture.reader.ping(new AbortController().signal);
  assert.deepEqual(await fixture.reader.warnings(new AbortController().signal), [
    'Role "postgres" of database "shop" is a superuser: give Postern a role that may only SELECT',
  ]);
  await using closed = await createFixture({ hosts: [{ host: "127.0.0.1", port: 1 }] });
  await assert.rejects(closed.reader.ping(new AbortController().signal), { code: "unavailable" });
});

testWithPostgres("warnings() names each privilege that a reader need not have", async () => {
  await using admin = await createTestDatabase();
  const role = `postern_reader_${crypto.randomUUID().slice(0, 8)}`;
  await admin.query(
    `CREATE ROLE "${role}" LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM public; CREATE TABLE t (a int)`,
  );
  try {
    await using fixture = await createFixture({ user: role, password: "x", database: admin.name });
    const warnings = () => fixture.reader.warnings(new AbortController().signal);
    assert.deepEqual(await warnings(), []);
    await admin.query(`GRANT INSERT ON t TO "${role}"; GRANT CREATE ON SCHEMA public TO "${role}";
      GRANT pg_read_server_files TO "${role}"; ALTER ROLE "${role}" CREATEDB`);
    assert.deepEqual(await warnings(), [
      `Role "${role}" of database "shop" may write to tables: give Postern a role that may only SELECT`,
      `Role "${role}" of database "shop" may create objects in a schema: revoke CREATE on it`,
      `Role "${role}" of database "shop" is a member of a pg_ role that reaches files, programs or all data: revoke it`,
      `Role "${role}" of database "shop" has CREATEROLE, CREATEDB, REPLICATION or BYPASSRLS: remove it with ALTER ROLE`,
    ]);
  } finally {
    await admin.query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
  }
});

async function createFixture(
  changes: Partial<DatabaseOptions> = {},
  quotas?: Parameters<typeof createDatabase>[0]["quotas"],
) {
  const database = await createTestDatabase();
  const pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const guard = await createStatementGuard();
  const options = databaseOptions(database.url, changes);
  const reader = createDatabase({ options, pools, guard, quotas, logger: silentLogger });
  const { signal } = new AbortController();
  return {
    database,
    reader,
    read: (sql: string, request: Partial<ReadRequest> = {}) =>
      reader.read({ principal: local, signal, sql, ...request }),
    async [Symbol.asyncDispose]() {
      await pools.close();
      await database[Symbol.asyncDispose]();
    },
  };
}
