import assert from "node:assert/strict";
import {
  createTestDatabase,
  runSql,
  type TestDatabase,
  testWithPostgres,
} from "../../../support/database.ts";
import { startCluster, testWithCluster } from "../../../support/postgres_cluster.ts";
import { callTool, createToolFixture } from "../../../support/tool_fixture.ts";
import { recommendIndexes } from "../../../../src/tool_server/tools/database_care/recommend_indexes.ts";

interface Recommendation {
  readonly table: string;
  readonly columns: readonly string[];
  readonly sql: string;
  readonly reasons: readonly string[];
  readonly statements: readonly {
    readonly number: number;
    readonly cost_before: number;
    readonly cost_after: number;
  }[];
  readonly gain?: number;
  readonly bytes?: number;
}

interface Statement {
  readonly number: number;
  readonly query: string;
  readonly cost_before?: number;
  readonly cost_after?: number;
  readonly skipped?: string;
}

const schema = `
  CREATE TABLE customers (id int PRIMARY KEY, city text, email text);
  INSERT INTO customers SELECT n, 'city ' || n % 50, 'c' || n || '@example.com' FROM generate_series(1, 5000) n;
  CREATE TABLE orders (id int PRIMARY KEY, customer_id int, "placed On" date, state text, total numeric);
  INSERT INTO orders SELECT n, n % 5000, date '2025-01-01' + n % 500, (ARRAY['open', 'sent', 'paid'])[n % 3 + 1], n % 97
    FROM generate_series(1, 60000) n;
  CREATE TABLE few (id int, note text);
  INSERT INTO few SELECT n, 'note' FROM generate_series(1, 20) n;
  ANALYZE`;

const workload = [
  "SELECT * FROM orders WHERE customer_id = 17",
  `SELECT o.total FROM orders AS o WHERE o.customer_id = 17 AND o."placed On" >= '2026-01-01'`,
  "SELECT c.email, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.email = 'c17@example.com'",
  "SELECT * FROM orders WHERE id = 5",
  "SELECT count(*) FROM few WHERE note = 'x'",
];

async function ask(
  database: TestDatabase,
  args: Record<string, unknown>,
  role?: string,
) {
  const url = new URL(database.url);
  if (role !== undefined) url.username = role;
  await using fixture = await createToolFixture({ shop: { database: { ...database, url: url.href } } });
  const { text, data, isError } = await callTool(recommendIndexes(fixture), args);
  return {
    text,
    data,
    isError,
    recommendations: (data["recommendations"] ?? []) as readonly Recommendation[],
    statements: (data["statements"] ?? []) as readonly Statement[],
  };
}

async function hasHypopg(): Promise<boolean> {
  await using database = await createTestDatabase();
  const rows = await database.query("SELECT FROM pg_available_extensions WHERE name = 'hypopg'");
  return rows.length > 0;
}

testWithPostgres("recommend_indexes without hypopg gives candidates and no gain", async (t) => {
  await using database = await createTestDatabase();
  await database.query(schema);

  await t.step("with reasons, and how to install what measures", async () => {
    const { text, data, recommendations, statements } = await ask(database, {
      statements: workload,
      limit: 20,
    });
    assert.equal(data["measured"], false);
    assert.match(
      text,
      /The gain was not measured: the extension hypopg is not in this database\. .*CREATE EXTENSION hypopg;/,
    );
    const found = recommendations.map(({ sql }) => sql);
    assert.ok(
      found.includes("CREATE INDEX CONCURRENTLY ON public.orders (customer_id);"),
      found.join("\n"),
    );
    assert.ok(found.includes("CREATE INDEX CONCURRENTLY ON public.customers (email);"));
    // what an index serves already, and what is too small for one
    assert.ok(!found.some((sql) => /\(id\)|few/.test(sql)), found.join("\n"));
    assert.deepEqual(recommendations.map(({ gain }) => gain).filter((gain) => gain !== undefined), []);
    assert.equal(statements.length, workload.length);
  });

  await t.step("names that need quotes get them", async () => {
    const { recommendations } = await ask(database, {
      statements: ["SELECT * FROM orders WHERE \"placed On\" = '2026-01-01' AND total < 5"],
      limit: 1,
    });
    assert.deepEqual(recommendations.map(({ sql, reasons }) => [sql, reasons]), [
      ['CREATE INDEX CONCURRENTLY ON public.orders ("placed On");', ['"placed On" compared']],
    ]);
  });

  await t.step("statements that are no reads are not planned", async () => {
    const { statements, recommendations } = await ask(database, {
      statements: [
        "DELETE FROM orders WHERE customer_id = 1",
        "SELECT hypopg_create_index('x') FROM orders WHERE customer_id = 1; SELECT 1",
        "SELECT pg_read_file('/etc/passwd') FROM orders WHERE customer_id = 1",
        `SELECT '${"x".repeat(6_000)}'`,
        "what is slow?",
      ],
    });
    assert.deepEqual(recommendations, []);
    assert.deepEqual(statements.map(({ skipped }) => skipped), [
      "DELETE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
      "there is more than one statement; send one at a time",
      "pg_read_file() is not allowed: it reads or writes the server's files",
      "it is longer than 5000 characters",
      'syntax error at or near "what"',
    ]);
  });

  await t.step("without statements and pg_stat_statements it says what to do", async () => {
    const { isError, text } = await ask(database, {});
    assert.equal(isError, true);
    assert.match(text, /give them as `statements`: the extension pg_stat_statements is not in this database/);
  });

  await t.step("a table that the role may not read is as one that is not there", async () => {
    const role = `${database.name}_reader`;
    await database.query(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON customers TO ${role}`);
    try {
      const { text, recommendations } = await ask(database, { statements: workload }, role);
      assert.deepEqual(recommendations.map(({ table }) => table), ["public.customers"]);
      assert.doesNotMatch(text, /public\.orders/);
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});

const isTried = Deno.env.get("TEST_DATABASE_URL") !== undefined && await hasHypopg();

Deno.test({
  name: `recommend_indexes asks PostgreSQL with hypopg${isTried ? "" : " (needs hypopg)"}`,
  ignore: !isTried,
  fn: async (t) => {
    await using database = await createTestDatabase();
    await database.query(`${schema}; CREATE SCHEMA "ext; ra"; CREATE EXTENSION hypopg SCHEMA "ext; ra"`);

    await t.step("what is chosen lowers the cost, and nothing is chosen twice", async () => {
      const { data, recommendations, statements, text } = await ask(database, { statements: workload });
      assert.equal(data["measured"], true, text);
      assert.deepEqual(recommendations.map(({ sql }) => sql).toSorted(), [
        "CREATE INDEX CONCURRENTLY ON public.customers (email);",
        "CREATE INDEX CONCURRENTLY ON public.orders (customer_id);",
      ]);
      for (const { gain = 0, bytes = 0, statements } of recommendations) {
        assert.ok(gain > 0.01 && gain < 1 && bytes > 8_192);
        for (const { cost_before, cost_after } of statements) assert.ok(cost_after < cost_before);
      }
      const [first, , , fourth] = statements;
      assert.ok((first?.cost_after ?? 0) < (first?.cost_before ?? 0) / 5);
      assert.equal(fourth?.cost_before, fourth?.cost_after);
      assert.match(text, /No index was made/);
      assert.equal((await database.query("SELECT FROM pg_indexes WHERE schemaname = 'public'")).length, 2);
    });

    await t.step("normalised statements are planned for whatever value may come", async () => {
      const { recommendations, statements } = await ask(database, {
        statements: [
          'SELECT * FROM orders WHERE customer_id = $1 AND "placed On" = $2',
          "SELECT $1",
          "SELECT * FROM orders WHERE total > $1 AND state = '$7'",
        ],
      });
      const serving = recommendations.find(({ columns }) => columns[0] === "customer_id");
      assert.deepEqual(serving?.statements.map(({ number }) => number), [1]);
      assert.deepEqual(statements.map(({ skipped }) => skipped), [undefined, undefined, undefined]);
      assert.ok((statements[0]?.cost_after ?? 0) < 50);
    });

    await t.step("a statement that PostgreSQL does not plan says why, and the others go on", async () => {
      const { recommendations, statements } = await ask(database, {
        statements: [
          "SELECT nothing FROM orders WHERE customer_id = 3",
          "SELECT * FROM nowhere",
          workload[0],
        ],
      });
      assert.deepEqual(statements.map(({ skipped }) => skipped), [
        'column "nothing" does not exist',
        'relation "nowhere" does not exist',
        undefined,
      ]);
      assert.equal(recommendations.length, 1);
    });

    await t.step("a caller's statement may not reach hypopg's functions", async () => {
      const { statements } = await ask(database, {
        statements: [`SELECT "ext; ra".hypopg_create_index('CREATE INDEX ON orders (state)')`],
      });
      assert.match(statements[0]?.skipped ?? "", /hypopg_create_index\(\) is not allowed: it is VOLATILE/);
    });

    await t.step("a role that may not read a table gets no cost of it", async () => {
      const role = `${database.name}_reader`;
      await database.query(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON customers TO ${role};
        GRANT USAGE ON SCHEMA "ext; ra" TO ${role}`);
      try {
        const { recommendations, statements } = await ask(database, { statements: workload }, role);
        assert.deepEqual(recommendations, []);
        assert.match(statements[0]?.skipped ?? "", /permission denied for table orders/);
      } finally {
        await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      }
    });

    await t.step("hypothetical indexes end with the call", async () => {
      await using fixture = await createToolFixture({ shop: { database } });
      const tool = recommendIndexes(fixture);
      const first = await callTool(tool, { statements: workload });
      const second = await callTool(tool, { statements: workload });
      assert.deepEqual(second.data, first.data);
      const principal = { kind: "local" } as const;
      const { signal } = new AbortController();
      const plan = await fixture.directory.resolve(principal, "shop").read({
        principal,
        signal,
        sql: "EXPLAIN SELECT * FROM orders WHERE customer_id = 17",
      });
      assert.ok(plan.ok);
      assert.doesNotMatch(JSON.stringify(plan.rows), /btree_orders/);
    });
  },
});

testWithCluster("recommend_indexes looks at what pg_stat_statements has counted", async () => {
  await using cluster = await startCluster({ settings: ["shared_preload_libraries = 'pg_stat_statements'"] });
  const url = `postgres://postgres@127.0.0.1:${cluster.port}/postgres`;
  const shop: TestDatabase = {
    url,
    name: "postgres",
    query: (sql) => runSql(url, sql),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await shop.query(`CREATE EXTENSION pg_stat_statements; ${schema}`);
  await shop.query("CREATE EXTENSION IF NOT EXISTS hypopg").catch(() => {});
  for (let n = 0; n < 5; n++) await shop.query(`SELECT total FROM orders WHERE customer_id = ${n}`);
  await shop.query("SELECT email FROM customers WHERE city = 'secret city'");
  await shop.query("UPDATE orders SET total = 1 WHERE state = 'none'");
  const { text, recommendations, statements } = await ask(shop, {});
  assert.equal(recommendations[0]?.sql, "CREATE INDEX CONCURRENTLY ON public.orders (customer_id);");
  assert.deepEqual(
    statements.find(({ query }) => query.includes("FROM orders"))?.query,
    "SELECT total FROM orders WHERE customer_id = $1",
  );
  assert.doesNotMatch(text, /secret city|UPDATE|pg_catalog/);
});
