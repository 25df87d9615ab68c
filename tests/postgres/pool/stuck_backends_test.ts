import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startPoolerProxy } from "../../support/network/pooler_proxy.ts";
import { waitUntil } from "../../support/wait_until.ts";
import type { Lease } from "../../../src/postgres/pool/principal_pool.ts";

const token = (id: string): Principal => ({ kind: "token", id });
const caller = (address: string): Principal => ({ kind: "local", address });
const session = (id: string, username: string): Principal => ({ kind: "session", id, username });

const tooLong = "SELECT pg_sleep(600)";

/** Pools behind a pooler, where no statement can be cancelled and no backend be seen. */
async function fixture(
  changes: Partial<DatabaseOptions> & { maxConnections?: number; behindPooler?: boolean } = {},
) {
  const { maxConnections = 100, behindPooler = true, ...rest } = changes;
  const db = await createTestDatabase();
  const { hostname, port } = new URL(db.url);
  const proxy = await startPoolerProxy({ host: hostname, port: Number(port) });
  const log: Record<string, unknown>[] = [];
  let clock = Date.parse("2026-03-01T12:00:00Z");
  const pools = createConnectionPools({
    maxConnections,
    logger: createLogger({ level: "info", format: "json", write: (line) => log.push(JSON.parse(line)) }),
    now: () => clock,
    lookAfterMs: [20],
  });
  const options = databaseOptions(db.url, {
    poolMaxConns: 2,
    ...(behindPooler && { hosts: [{ host: "127.0.0.1", port: proxy.port }], pooler: "transaction" as const }),
    ...rest,
  });
  const acquire = (principal: Principal) => pools.acquire(options, principal, AbortSignal.timeout(10_000));

  /** Has connections of a caller's become stuck, all at the same time. */
  async function stick(...principals: Principal[]): Promise<Lease[]> {
    const leases = await Promise.all(principals.map(acquire));
    await Promise.all(leases.map(async (lease) => {
      const working = lease.client.query(tooLong).catch(() => {});
      assert.equal(await lease.cancelUntil(working, 100), false);
      lease.discard();
    }));
    return leases;
  }

  return {
    db,
    proxy,
    pools,
    options,
    log,
    acquire,
    stick,
    advance: (ms: number) => void (clock += ms),
    async [Symbol.asyncDispose]() {
      await pools.close();
      await proxy[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}

/** Gets a connection, uses it and gives it back. */
async function use(leasing: Promise<Lease>): Promise<void> {
  const lease = await leasing;
  await lease.client.query("SELECT 1");
  lease.release();
}

function isWaiting(leasing: Promise<Lease>): () => boolean {
  let waits = true;
  leasing.then(() => waits = false, () => waits = false);
  return () => waits;
}

const stuckLine =
  "PostgreSQL does not stop a statement that has to end; its backend keeps its place in the pool";

testWithPostgres("a stuck backend keeps its place, and others of the pool go on", async () => {
  await using f = await fixture();
  await f.stick(token("a"));
  const one = await f.acquire(token("a"));
  const second = f.acquire(token("a"));
  const waits = isWaiting(second);
  await one.client.query("SELECT 1");
  assert.equal(waits(), true, "there are two places, and one is taken for good");
  one.release();
  await use(second);
  await waitUntil("the log tells", () => f.log.length === 1);
  assert.deepEqual({ ...f.log[0], time: "", backend: 0 }, {
    time: "",
    level: "warn",
    message: stuckLine,
    database: "shop",
    backend: 0,
    caller: "token a",
    since: "2026-03-01T12:00:00.000Z",
    seen: false,
  });
});

testWithPostgres("where every place is stuck a caller is refused at once, and nobody else", async () => {
  await using f = await fixture();
  const sticking = f.stick(token("a"), token("a"));
  const refused = assert.rejects(f.acquire(token("a")), { code: "unavailable" });
  await sticking;
  await refused;
  await assert.rejects(f.acquire(token("a")), {
    code: "unavailable",
    message: 'Cannot read from database "shop": statements that PostgreSQL does not stop hold all of ' +
      "this caller's connections (2), the first since 2026-03-01T12:00:00.000Z; try again later, or ask the " +
      "operator to end the backends that the server's log names",
  });
  await use(f.acquire(token("b")));
});

testWithPostgres("a user's stuck backends outlive the session, and count for the next one", async () => {
  await using f = await fixture();
  await f.stick(session("1", "alice"), session("1", "alice"));
  await f.pools.closePrincipal(session("1", "alice"));
  await assert.rejects(f.acquire(session("2", "alice")), { code: "unavailable" });
  await use(f.acquire(session("3", "bob")));
});

testWithPostgres("a pool that many share takes as many connections more as it has places, once", async () => {
  await using f = await fixture();
  await f.stick(caller("192.0.2.1"), caller("192.0.2.1"));
  await assert.rejects(f.acquire(caller("192.0.2.1")), { code: "unavailable", message: /this caller's/ });
  await use(f.acquire(caller("192.0.2.2")));
  await use(f.acquire({ kind: "local" }));

  await f.stick(caller("192.0.2.2"));
  const last = await f.acquire(caller("192.0.2.3"));
  const next = f.acquire(caller("192.0.2.4"));
  const waits = isWaiting(next);
  await last.client.query("SELECT 1");
  assert.equal(waits(), true, "three of four are stuck");
  last.release();
  await use(next);

  await f.stick(caller("192.0.2.3"));
  await assert.rejects(f.acquire(caller("192.0.2.4")), {
    code: "unavailable",
    message: /hold all of the connections that these callers share \(4\)/,
  });
  await use(f.acquire(token("a")));
});

testWithPostgres(
  "one address gets no more of a shared pool than it had places, stuck ones included",
  async () => {
    await using f = await fixture({ poolMaxConns: 3 });
    await f.stick(caller("192.0.2.1"));
    const held = await Promise.all([f.acquire(caller("192.0.2.1")), f.acquire(caller("192.0.2.1"))]);
    const third = f.acquire(caller("192.0.2.1"));
    const waits = isWaiting(third);
    const other = await f.acquire(caller("192.0.2.2"));
    await other.client.query("SELECT 1");
    assert.equal(waits(), true);
    for (const lease of [...held, other]) lease.release();
    await use(third);
  },
);

testWithPostgres("stuck backends count for the bound over all pools", async () => {
  await using f = await fixture({ maxConnections: 2 });
  await f.stick(token("a"));
  const held = await f.acquire(token("b"));
  const waiting = f.acquire(token("c"));
  const waits = isWaiting(waiting);
  await held.client.query("SELECT 1");
  assert.equal(waits(), true);
  held.release();
  await use(waiting);
  await f.stick(token("d"));
  await assert.rejects(f.acquire(token("e")), {
    message: /hold all of the server's connections \(2\)/,
  });
});

testWithPostgres("a backend that cannot be seen keeps its place for ten minutes", async () => {
  await using f = await fixture();
  await f.stick(token("a"), token("a"));
  await waitUntil("the log tells of both", () => f.log.length === 2);
  f.advance(9 * 60_000);
  await assert.rejects(f.acquire(token("a")), { code: "unavailable" });
  f.advance(60_000);
  await waitUntil("both places are given up", () => f.log.length === 4);
  assert.match(String(f.log[3]?.["message"]), /could not be seen for 10 minutes/);
  await use(f.acquire(token("a")));
});

testWithPostgres("that its connection breaks does not free a backend that cannot be seen", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  await f.stick(token("a"));
  f.proxy.cutFirst();
  await waitUntil("it was looked for", () => f.log.length === 1);
  await assert.rejects(f.acquire(token("a")), { code: "unavailable" });
});

testWithPostgres("a statement that ends after all frees its place, wherever it ran", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  await f.stick(token("a"));
  await f.db.query(
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity " +
      "WHERE query LIKE '%pg_sleep(600)%' AND datname = current_database() AND pid <> pg_backend_pid()",
  );
  await waitUntil("the place is free", () => use(f.acquire(token("a"))).then(() => true, () => false));
});

testWithPostgres("close() does not wait for a stuck backend", async () => {
  await using f = await fixture();
  await f.stick(token("a"));
  await f.pools.close();
  await waitUntil("its connection is closed", () => f.proxy.open() === 0);
  assert.equal(await runningStatements(f.db), 1);
});

testWithPostgres("a backend that can be seen keeps its place until it is gone", async () => {
  await using f = await fixture({ poolMaxConns: 1, behindPooler: false });
  const lease = await f.acquire(token("a"));
  const { rows } = await lease.client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const backend = rows[0]?.pid ?? 0;
  if (!pauseProcess(backend)) return;
  try {
    const working = lease.client.query(tooLong).catch(() => {});
    assert.equal(await lease.cancelUntil(working, 100), false);
    lease.discard();
    await waitUntil("it was seen", () => f.log.length === 1);
    f.advance(60 * 60_000);
    // looks follow each other within milliseconds
    await new Promise((resolve) => setTimeout(resolve, 300));
    await assert.rejects(f.acquire(token("a")), { code: "unavailable" });
    assert.equal(f.log[0]?.["seen"], true);
    assert.equal(f.log[0]?.["backend"], backend);
  } finally {
    Deno.kill(backend, "SIGCONT");
  }
  await waitUntil("it is gone", () => f.log.length === 2);
  assert.equal(f.log[1]?.["message"], "A stuck backend has ended; its place in the pool is free again");
  await use(f.acquire(token("a")));
});

async function runningStatements(db: TestDatabase): Promise<number> {
  const rows = await db.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' " +
      `AND query = '${tooLong}'`,
  );
  return rows.length;
}

/** Whether the process was stopped; a developer may not signal those of the server, which run as another user. */
function pauseProcess(processId: number): boolean {
  try {
    Deno.kill(processId, "SIGSTOP");
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
