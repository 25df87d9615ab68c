import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createDemoDatabase, demoDatabaseOptions } from "../../src/demo/demo_database.ts";
import { demoShopSql } from "../../src/demo/demo_shop.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { pg } from "../../src/postgres/connection.ts";

type Read = (sql: string) => Promise<(string | null)[][]>;

async function withShop(now: Date | undefined, test: (read: Read) => Promise<void>): Promise<void> {
  const statementTimeoutMs = 30_000;
  await using server = await createDemoDatabase({
    statementTimeoutMs,
    logger: silentLogger,
    ...(now === undefined ? {} : { now: () => now }),
  });
  const { user, database, openStream } = demoDatabaseOptions(server, statementTimeoutMs);
  assert.ok(openStream !== undefined);
  const client = new pg.Client({ user, database, ssl: false, stream: openStream });
  await client.connect();
  try {
    await test(async (sql) => {
      const types = { getTypeParser: () => (text: string | null) => text };
      const { rows } = await client.query({ text: sql, rowMode: "array", types });
      return rows;
    });
  } finally {
    await client.end();
  }
}

Deno.test("the demo shop's SQL is the same everywhere for one day and moves with the day", async () => {
  const digest = async (time: string) =>
    createHash("sha256").update((await demoShopSql(new Date(time))).join(";\n")).digest("hex").slice(0, 16);
  assert.equal(await digest("2026-03-15T00:00:00Z"), "a40b51e9e6b87f9e");
  assert.equal(await digest("2026-03-15T23:59:59Z"), "a40b51e9e6b87f9e");
  assert.notEqual(await digest("2026-03-16T00:00:00Z"), "a40b51e9e6b87f9e");
});

Deno.test("the demo shop holds what a visitor asks for", async (t) => {
  await withShop(new Date("2026-03-15T12:00:00Z"), async (read) => {
    const count = async (table: string) => Number((await read(`SELECT count(*) FROM ${table}`))[0]?.[0]);

    await t.step("rows in every table and view", async () => {
      const least = {
        suppliers: 14,
        categories: 20,
        products: 240,
        customers: 800,
        orders: 4000,
        order_lines: 8000,
        reviews: 1000,
        order_totals: 4000,
        monthly_revenue: 24,
        product_sales: 240,
      };
      for (const [table, rows] of Object.entries(least)) {
        assert.ok(await count(table) >= rows, `${table} has too few`);
      }
    });

    await t.step("every foreign key holds", async () => {
      const keys = await read(`
        SELECT conrelid::regclass, a.attname, confrelid::regclass
        FROM pg_constraint JOIN pg_attribute a ON attrelid = conrelid AND attnum = conkey[1] WHERE contype = 'f'`);
      assert.equal(keys.length, 8);
      for (const [table, column, target] of keys) {
        const lost =
          `${table} t WHERE ${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${target} WHERE id = t.${column})`;
        assert.equal(await count(lost), 0, `${table}.${column}`);
      }
    });

    await t.step("every table and view has a comment", async () => {
      assert.deepEqual(
        await read(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
          AND relkind IN ('r', 'v', 'm') AND obj_description(oid) IS NULL`),
        [],
      );
      assert.ok(await count("pg_description WHERE objsubid > 0 AND classoid = 'pg_class'::regclass") >= 20);
    });

    await t.step("orders on every day up to the one before, in a course that makes sense", async () => {
      assert.deepEqual(
        await read("SELECT max(placed_at)::date, count(DISTINCT placed_at::date) FROM orders"),
        [
          ["2026-03-14", "760"],
        ],
      );
      assert.equal(await count("orders WHERE NOT EXISTS (SELECT 1 FROM order_lines WHERE order_id = id)"), 0);
      assert.equal(
        await count("orders WHERE (status IN ('delivered', 'returned')) <> (delivered_at IS NOT NULL)"),
        0,
      );
      assert.equal(
        await count("orders JOIN customers c ON c.id = customer_id WHERE placed_at < registered_at"),
        0,
      );
    });

    await t.step("December sells more than July", async () => {
      const [row] = await read(`SELECT sum(revenue) FILTER (WHERE month = '2025-12-01') >
        1.5 * sum(revenue) FILTER (WHERE month = '2025-07-01') FROM monthly_revenue`);
      assert.deepEqual(row, ["t"]);
    });

    await t.step("texts that are hard to print", async () => {
      const conditions = [
        "position(chr(9) IN body) > 0",
        "position(chr(10) IN body) > 0",
        "position(chr(13) IN body) > 0",
        "position('👍🏽' IN body) > 0",
        "body LIKE ' % '",
        "body = 'NULL'",
        "body = '\\N'",
      ];
      for (const condition of conditions) assert.ok(await count(`reviews WHERE ${condition}`) > 0, condition);
      assert.ok(await count("reviews WHERE title IS NULL") > 0);
      assert.ok(await count("products WHERE tags = '{}'") > 0);
    });

    await t.step("connections may read and nothing else", async () => {
      for (
        const sql of [
          "DELETE FROM orders",
          "CREATE TABLE x (n int)",
          "CREATE TEMP TABLE x (n int)",
          "REFRESH MATERIALIZED VIEW product_sales",
          "SELECT pg_read_file('PG_VERSION')",
        ]
      ) await assert.rejects(read(sql), { code: "42501" }, sql);
      assert.deepEqual(await read("SELECT current_user, current_setting('is_superuser')"), [[
        "postern_demo",
        "off",
      ]]);
    });
  });
});

Deno.test("the demo shop had orders last month, whenever it starts", async () => {
  await withShop(undefined, async (read) => {
    const [row] = await read(`
      SELECT count(*) >= 50, bool_and(placed_at < now()), max(placed_at)::date >= current_date - 2 FROM orders
      WHERE placed_at >= date_trunc('month', now()) - interval '1 month'`);
    assert.deepEqual(row, ["t", "t", "t"]);
  });
});
