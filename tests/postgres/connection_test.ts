import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { connect } from "../../src/postgres/connect/connect.ts";
// @ts-types="@types/pg-cursor"
import Cursor from "pg-cursor";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";
import { startPoolerProxy } from "../support/network/pooler_proxy.ts";
import { startSlowRelay } from "../support/network/slow_relay.ts";
import { waitUntil } from "../support/wait_until.ts";

const forever = new AbortController().signal;
const open = (db: TestDatabase) =>
  connect(databaseOptions(db.url), { signal: forever, logger: silentLogger });

async function activeStatements(db: TestDatabase): Promise<number> {
  const rows = await db.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'postern' " +
      "AND state = 'active'",
  );
  return rows.length;
}

testWithPostgres(
  "limitBytes() fails a query whose one value is too large, without buffering it",
  async () => {
    await using db = await createTestDatabase();
    const connection = await open(db);
    connection.limitBytes(4 * 1024 * 1024);
    const before = Deno.memoryUsage().rss;
    await assert.rejects(connection.client.query("SELECT repeat('x', 300000000)"), {
      name: "AppError",
      code: "invalid",
      message: "Cannot read result: it exceeds 4 MiB",
    });
    const grownMiB = (Deno.memoryUsage().rss - before) / 1024 / 1024;
    // other files' tests run in this process too
    assert.ok(grownMiB < 250, `grew by ${grownMiB} MiB`);
    await connection.close();
  },
);

testWithPostgres("limitBytes() fails what crosses the bound within a single chunk", async () => {
  await using db = await createTestDatabase();
  const connection = await open(db);
  connection.limitBytes(100);
  await assert.rejects(connection.client.query("SELECT repeat('x', 200)"), { code: "invalid" });
  await connection.close();
});

testWithPostgres("limitBytes() fails a cursor's read and leaves no statement running", async () => {
  await using db = await createTestDatabase();
  const connection = await open(db);
  connection.limitBytes(1024 * 1024);
  const cursor = connection.client.query(
    new Cursor("SELECT repeat('x', 1000) FROM generate_series(1, 100000)"),
  );
  await assert.rejects(cursor.read(1_000_000), { code: "invalid" });
  await waitUntil("no statement is running", async () => await activeStatements(db) === 0);
  await connection.close();
});

testWithPostgres("limitBytes() counts from its call, and undefined lifts the bound", async () => {
  await using db = await createTestDatabase();
  const connection = await open(db);
  for (let round = 0; round < 3; round++) {
    connection.limitBytes(15_000);
    await connection.client.query("SELECT repeat('x', 10000)");
  }
  connection.limitBytes(undefined);
  await connection.client.query("SELECT repeat('x', 100000)");
  await connection.close();
});

testWithPostgres("cancel() reaches the statement that runs, and no later one", async () => {
  await using db = await createTestDatabase();
  const connection = await open(db);
  for (let round = 0; round < 20; round++) {
    const cancelled = assert.rejects(connection.client.query("SELECT pg_sleep(60)"), { code: "57014" });
    await waitUntil("the statement runs", async () => await activeStatements(db) === 1);
    await connection.cancel();
    await cancelled;
    await connection.client.query("SELECT 1");
  }
  await connection.close();
});

testWithPostgres("close() cancels a statement that still runs", async () => {
  await using db = await createTestDatabase();
  const connection = await open(db);
  const query = assert.rejects(
    connection.client.query("SELECT count(*) FROM generate_series(1, 100000000000)"),
  );
  await waitUntil("the statement runs", async () => await activeStatements(db) === 1);
  await connection.close();
  await query;
  await waitUntil("no statement is running", async () => await activeStatements(db) === 0);
});

testWithPostgres(
  "close() cancels a statement that its first request to cancel came too early for",
  async () => {
    await using db = await createTestDatabase();
    await using relay = await startSlowRelay(new URL(db.url), { requestMs: 300 });
    const options = databaseOptions(db.url, { hosts: [{ host: "127.0.0.1", port: relay.port }] });
    const connection = await connect(options, { signal: forever, logger: silentLogger });
    const query = assert.rejects(connection.client.query("SELECT pg_sleep(60)"), { code: "57014" });
    await connection.close();
    await query;
    assert.equal(await activeStatements(db), 0);
  },
);

testWithPostgres(
  "end() gives up a statement that cannot be cancelled, and closes when it has ended",
  async () => {
    await using db = await createTestDatabase();
    const { hostname, port } = new URL(db.url);
    await using pooler = await startPoolerProxy({ host: hostname, port: Number(port) });
    const options = databaseOptions(db.url, { hosts: [{ host: "127.0.0.1", port: pooler.port }] });
    const connection = await connect(options, { signal: forever, logger: silentLogger });
    let isClosed = false;
    connection.onClosed(() => isClosed = true);
    const query = connection.client.query("SELECT pg_sleep(3)");
    assert.equal(await connection.end(), false);
    assert.equal(isClosed, false);
    assert.equal((await query).rowCount, 1);
    await waitUntil("it has said goodbye", () => isClosed);
  },
);
