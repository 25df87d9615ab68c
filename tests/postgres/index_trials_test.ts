import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { createDatabase, type Database } from "../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../src/postgres/pool/connection_pools.ts";
import { createTestDatabase, runSql, type TestDatabase, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";

const principal = { kind: "local" } as const;
const request = () => ({ principal, signal: new AbortController().signal, timeoutMs: 10_000 });
const unreachable = () => Promise.reject(new Error("nothing is tried here"));

async function open(database: TestDatabase, changes: Partial<DatabaseOptions> = {}) {
  const pools = createConnectionPools({ maxConnections: 4, logger: silentLogger });
  const opened: Database = createDatabase({
    options: databaseOptions(database.url, changes),
    pools,
    guard: await createStatementGuard(),
    logger: silentLogger,
  });
  return { database: opened, [Symbol.asyncDispose]: () => pools.close() };
}

testWithPostgres(
  "tryIndexes() says where the extension is missing, and where a session is not one's own",
  async () => {
    await using database = await createTestDatabase();
    await using direct = await open(database);
    assert.deepEqual(await direct.database.tryIndexes(request(), unreachable), {
      ok: false,
      why: "missing",
      reason: "the extension hypopg is not in this database",
    });
    await using pooled = await open(database, { pooler: "transaction" });
    const refused = await pooled.database.tryIndexes(request(), unreachable);
    assert.equal(!refused.ok && refused.why, "pooler");
  },
);

const isThere = await hasHypopg();

Deno.test({
  name: `tryIndexes() pretends on a connection of its own${isThere ? "" : " (needs hypopg)"}`,
  ignore: !isThere,
  fn: async (t) => {
    await using database = await createTestDatabase();
    await database.query(`CREATE EXTENSION hypopg; CREATE TABLE "t""x" ("a""; b" int, j json);
      INSERT INTO "t""x" SELECT n FROM generate_series(1, 20000) n; ANALYZE`);
    await using opened = await open(database);
    const sql = `SELECT * FROM "t""x" WHERE "a""; b" = $1`;
    const index = { schema: "public", table: 't"x', columns: ['a"; b'] };

    await t.step("the cost falls while the index is there, whatever its names hold", async () => {
      const result = await opened.database.tryIndexes(request(), async (trial) => {
        const cost = async () => {
          const planned = await trial.cost(sql, 1);
          assert.ok(planned.ok, JSON.stringify(planned));
          return planned.cost;
        };
        const before = await cost();
        const created = await trial.create(index);
        assert.ok(created !== undefined && created.bytes > 8_192);
        const during = await cost();
        await trial.drop(created.id);
        return { before, during, after: await cost() };
      });
      assert.ok(result.ok);
      assert.ok(result.value.during < result.value.before / 5);
      assert.equal(result.value.after, result.value.before);
    });

    await t.step("what PostgreSQL takes for no index, and what the guard refuses", async () => {
      const result = await opened.database.tryIndexes(request(), async (trial) => ({
        json: await trial.create({ ...index, columns: ["j"] }),
        nowhere: await trial.create({ ...index, table: "nowhere" }),
        write: await trial.cost("DELETE FROM x", 0),
        two: await trial.cost("SELECT 1; DROP TABLE x", 0),
        reset: await trial.cost("SELECT hypopg_reset()", 0),
        untyped: await trial.cost("SELECT $1 IS NULL", 1),
        show: await trial.cost("SHOW work_mem", 0),
      }));
      assert.ok(result.ok);
      const { json, nowhere, ...refused } = result.value;
      assert.deepEqual([json, nowhere], [undefined, undefined]);
      assert.deepEqual(Object.fromEntries(Object.entries(refused).map(([key, { ok }]) => [key, ok])), {
        write: false,
        two: false,
        reset: false,
        untyped: false,
        show: false,
      });
    });

    await t.step("nothing of it is left to the next statement", async () => {
      await opened.database.tryIndexes(request(), (trial) => trial.create(index));
      const { signal } = new AbortController();
      const plan = await opened.database.read({
        principal,
        signal,
        trusted: true,
        sql: "SELECT count(*) FROM hypopg_list_indexes",
      });
      assert.ok(plan.ok, JSON.stringify(plan));
      assert.deepEqual(plan.rows, [["0"]]);
    });

    await t.step(
      "what a name means to one caller is not what it means to the same with other claims",
      async () => {
        await database.query(`CREATE SCHEMA one; CREATE SCHEMA two;
        CREATE FUNCTION one.f() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
        CREATE FUNCTION two.f() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'`);
        await using claimed = await open(database, { sessionSettings: { search_path: "{claim:schema}" } });
        const isPlanned = async (schema: string) => {
          const principal = {
            kind: "issuer",
            issuer: "https://login.example.com",
            subject: "u1",
            groups: [],
            claims: { schema: `${schema}, public` },
          } as const;
          const result = await claimed.database.tryIndexes(
            { ...request(), principal },
            (trial) => trial.cost("SELECT f()", 0),
          );
          return result.ok && result.value.ok;
        };
        assert.deepEqual([await isPlanned("one"), await isPlanned("two")], [true, false]);
      },
    );

    await t.step("an error of the work ends it and the connection", async () => {
      await assert.rejects(opened.database.tryIndexes(request(), unreachable), /nothing is tried here/);
    });

    await t.step("a caller who leaves ends it", async () => {
      const controller = new AbortController();
      const result = await opened.database.tryIndexes(
        { ...request(), signal: controller.signal },
        async (trial) => {
          controller.abort();
          return await trial.cost(sql, 1);
        },
      );
      assert.equal(!result.ok && result.why, "failed");
    });
  },
});

async function hasHypopg(): Promise<boolean> {
  const url = Deno.env.get("TEST_DATABASE_URL");
  if (url === undefined) return false;
  return (await runSql(url, "SELECT FROM pg_available_extensions WHERE name = 'hypopg'")).length > 0;
}
