import assert from "node:assert/strict";
import {
  createTestDatabase,
  runSql,
  type TestDatabase,
  testWithPostgres,
} from "../../../support/database.ts";
import { startCluster, testWithCluster } from "../../../support/postgres_cluster.ts";
import { callTool, createToolFixture } from "../../../support/tool_fixture.ts";
import { shownStatement, topQueries } from "../../../../src/tool_server/tools/database_care/top_queries.ts";

interface Query {
  readonly query: string;
  readonly role: string;
  readonly calls: number;
  readonly rows: number;
  readonly blocks: number;
  readonly total_ms: number;
  readonly mean_ms: number;
  readonly share: number;
}

testWithPostgres("top_queries says how to install what it reads", async () => {
  await using database = await createTestDatabase();
  await using fixture = await createToolFixture({ shop: { database } });
  const { text, isError } = await callTool(topQueries(fixture), {});
  assert.equal(isError, true);
  assert.match(
    text,
    /^Cannot show statements of database "shop": the extension pg_stat_statements is not in this database/,
  );
  assert.match(
    text,
    /shared_preload_libraries = 'pg_stat_statements'.*CREATE EXTENSION pg_stat_statements;$/,
  );
});

testWithPostgres("top_queries says where the extension is there and its library is not", async () => {
  await using database = await createTestDatabase();
  await database.query("CREATE EXTENSION pg_stat_statements");
  await using fixture = await createToolFixture({ shop: { database } });
  const { text, isError } = await callTool(topQueries(fixture), {});
  assert.equal(isError, true);
  assert.match(
    text,
    /: pg_stat_statements is not loaded\. An administrator adds it to shared_preload_libraries/,
  );
});

testWithPostgres("top_queries is refused to a role that row-level security holds", async () => {
  await using database = await createTestDatabase();
  await database.query(`CREATE EXTENSION pg_stat_statements;
    CREATE TABLE held (id int); ALTER TABLE held ENABLE ROW LEVEL SECURITY;
    CREATE TABLE unread (id int); ALTER TABLE unread ENABLE ROW LEVEL SECURITY`);
  const role = `${database.name}_reader`;
  await database.query(`CREATE ROLE ${role} LOGIN`);
  try {
    await using fixture = await createToolFixture({ shop: { database, user: role } });
    const reason = async () => (await callTool(topQueries(fixture), {})).text;
    assert.match(await reason(), /is not loaded/);
    await database.query(`GRANT SELECT (id) ON held TO ${role}`);
    assert.match(
      await reason(),
      /: row-level security holds you in public\.held, and this counts rows of others/,
    );
    await database.query(`ALTER ROLE ${role} BYPASSRLS`);
    assert.match(await reason(), /is not loaded/);
    await database.query(`DROP OWNED BY ${role}`);
  } finally {
    await database.query(`DROP ROLE ${role}`);
  }
});

testWithCluster("top_queries shows what costs most", async (t) => {
  await using cluster = await startCluster({
    settings: ["shared_preload_libraries = 'pg_stat_statements'", "pg_stat_statements.track = all"],
  });
  const url = (name: string, user = "postgres") => `postgres://${user}@127.0.0.1:${cluster.port}/${name}`;
  const shop: TestDatabase = {
    url: url("postgres"),
    name: "postgres",
    query: (sql) => runSql(url("postgres"), sql),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await shop.query("CREATE DATABASE other");
  await shop.query("CREATE SCHEMA tools; CREATE EXTENSION pg_stat_statements SCHEMA tools");
  await shop.query(`CREATE TABLE items (id int PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 20000) n;
    CREATE ROLE plain LOGIN; GRANT SELECT ON items TO plain; GRANT USAGE ON SCHEMA tools TO plain`);
  for (let n = 0; n < 30; n++) await shop.query(`SELECT name FROM items WHERE id = ${n}`);
  await shop.query("SELECT count(*) FROM items a, generate_series(1, 40) WHERE a.name > 'secret literal'");
  await shop.query("SELECT * FROM items");
  await shop.query("ALTER ROLE plain PASSWORD 'hunter2'");
  await runSql(url("other"), "SELECT 'of another database' AS other_text");
  await runSql(url("postgres", "plain"), "SELECT max(name) AS of_plain FROM items");

  const ask = async (args: Record<string, unknown>, user?: string) => {
    await using fixture = await createToolFixture({
      shop: { database: { ...shop, url: url("postgres", user) } },
    });
    const { text, data, isError } = await callTool(topQueries(fixture), { limit: 100, ...args });
    assert.equal(isError, false, text);
    return { text, data, queries: data["queries"] as readonly Query[] };
  };

  await t.step("by calls, by rows, by time", async () => {
    const byCalls = await ask({ order_by: "calls" });
    const lookUp = byCalls.queries.find(({ query }) => query === "SELECT name FROM items WHERE id = $1");
    assert.deepEqual([lookUp?.calls, lookUp?.rows, lookUp?.role], [30, 29, "postgres"]);
    const byRows = await ask({ order_by: "rows" });
    const most = byRows.queries.slice(0, 2).map(({ query, rows }) => [query.slice(0, 21), rows]);
    // both have as many
    assert.deepEqual(most.toSorted(), [
      ["INSERT INTO items SEL", 20_000],
      ["SELECT * FROM items", 20_000],
    ]);
    for (const order of ["total_time", "mean_time", "io"]) {
      const { queries, data } = await ask({ order_by: order });
      assert.equal(data["order_by"], order);
      assert.ok(queries.length > 5);
    }
    const { queries } = await ask({ order_by: "total_time" });
    const times = queries.map((query) => query.total_ms);
    assert.deepEqual(times, times.toSorted((a, b) => b - a));
    assert.equal((await ask({ limit: 2 })).queries.length, 2);
  });

  await t.step("without literals, passwords, or what another database runs", async () => {
    const { text, queries } = await ask({});
    assert.doesNotMatch(text, /hunter2|secret literal|another database|other_text/);
    assert.ok(queries.some(({ query }) => query === "ALTER ROLE …"));
    assert.match(
      text,
      /^Database: shop\n\n\d+ of \d+ statements by total_time\n<data-[0-9a-f]{32}>\nid\tquery\t/,
    );
  });

  await t.step("a role without rights sees its own, and hears what it lacks", async () => {
    const { text, queries, data } = await ask({}, "plain");
    assert.ok(queries.some(({ query }) => query === "SELECT max(name) AS of_plain FROM items"));
    assert.deepEqual([...new Set(queries.map(({ role }) => role))], ["plain"]);
    assert.doesNotMatch(text, /insufficient privilege/);
    assert.equal(data["unseen"], "statements of other roles: GRANT pg_read_all_stats TO plain;");
    await shop.query("GRANT pg_read_all_stats TO plain");
    const all = await ask({}, "plain");
    assert.equal(all.data["unseen"], undefined);
    assert.ok(all.queries.some(({ role }) => role === "postgres"));
  });
});

Deno.test("shownStatement() tells no more of commands than their first words", () => {
  assert.equal(shownStatement("SELECT $1"), "SELECT $1");
  assert.equal(shownStatement("/* by /* app */ */ ((select $1))"), "/* by /* app */ */ ((select $1))");
  assert.equal(shownStatement("/* /* */ SELECT */ ALTER USER x PASSWORD 'p'"), "ALTER USER …");
  assert.equal(shownStatement("/* SELECT $1"), "(a command)");
  assert.equal(shownStatement("-- x\n create  role a PASSWORD 'p'"), "CREATE ROLE …");
  assert.equal(shownStatement("/* SELECT */ ALTER USER x WITH PASSWORD 'p'"), "ALTER USER …");
  assert.equal(shownStatement("COPY t FROM STDIN"), "COPY T …");
  assert.equal(shownStatement("SELECT 's3cret' AS x INTO t"), "SELECT INTO …");
  assert.equal(shownStatement("with q as (select 's3cret') select *\nINTO TEMP t from q"), "SELECT INTO …");
  const insertion = "WITH q AS (SELECT $1) INSERT INTO t SELECT * FROM q";
  assert.equal(shownStatement(insertion), insertion);
  assert.equal(shownStatement("<insufficient privilege>"), "(a command)");
  assert.match(shownStatement(`SELECT ${"x".repeat(5_000)}`), /^SELECT x{993}… \(5007 characters\)$/);
});
