import assert from "node:assert/strict";
import { sleep } from "../../src/core/async/deadline.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { connect } from "../../src/postgres/connect/connect.ts";
import { createSqlSession, takeLock, transaction } from "../../src/postgres/sql_session.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";

testWithPostgres("takeLock() waits for a lock whose holder ends, and not for ever", async () => {
  await using database = await createTestDatabase();
  const { signal } = new AbortController();
  const open = () => connect(databaseOptions(database.url), { signal, logger: silentLogger });
  const holder = await open();
  const waiter = await open();
  await holder.client.query("SELECT pg_advisory_lock(7)");
  const session = createSqlSession(waiter, signal, "write");
  assert.equal(await takeLock(session, "7", 0), false);
  let asked = 0;
  const watched = {
    ...session,
    query(...request: Parameters<typeof session.query>) {
      asked++;
      if (asked === 2) void holder.close();
      return session.query(...request);
    },
  };
  assert.equal(await takeLock(watched, "7"), true);
  assert.ok(asked >= 2);
  await waiter.close();
});

testWithPostgres("createSqlSession() says that the connection was lost", async () => {
  await using database = await createTestDatabase();
  const { signal } = new AbortController();
  const connection = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
  const session = createSqlSession(connection, signal, "write");
  const lost = {
    code: "unavailable",
    message: "Cannot write: the connection to the database was lost; run it again when the database answers",
  };
  await assert.rejects(session.query("SELECT pg_terminate_backend(pg_backend_pid())"), lost);
  await assert.rejects(session.query("SELECT 1"), lost);
  await assert.rejects(transaction(session, () => Promise.resolve()), lost);
  connection.destroy();
});

testWithPostgres("takeLock() stops waiting when it is told to", async () => {
  await using database = await createTestDatabase();
  const { signal } = new AbortController();
  const stop = new AbortController();
  const holder = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
  const waiter = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
  await holder.client.query("SELECT pg_advisory_lock(7)");
  const session = createSqlSession(waiter, stop.signal, "write");
  const waiting = takeLock(session, "7", 60_000);
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, { message: "enough" });
  await holder.close();
  await waiter.close();
});

testWithPostgres("no timeout of a connection or role ends what a session does", async () => {
  await using database = await createTestDatabase();
  const { signal } = new AbortController();
  await database.query(
    `ALTER DATABASE ${database.name} SET statement_timeout = '300ms';
    ALTER DATABASE ${database.name} SET idle_session_timeout = '1s'`,
  );
  for (const pooler of ["none", "transaction"] as const) {
    const options = databaseOptions(database.url, { pooler, statementTimeoutMs: 300 });
    const connection = await connect(options, { signal, logger: silentLogger });
    const session = createSqlSession(connection, signal, "write");
    await session.query("SELECT pg_sleep(0.6)");
    await sleep(1_500);
    await session.query("SELECT pg_sleep(0.6)");
    await connection.close();
  }
});
