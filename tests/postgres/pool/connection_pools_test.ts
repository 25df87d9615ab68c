import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { type ConnectionPools, createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { waitUntil } from "../../support/wait_until.ts";
import type { Lease } from "../../../src/postgres/pool/principal_pool.ts";

const local = { kind: "local" } as const;
const token = (id: string) => ({ kind: "token", id }) as const;
const at = (address: string): Principal => ({ kind: "local", address });
const session = (id: string, username: string): Principal => ({ kind: "session", id, username });
const forever = new AbortController().signal;

interface Fixture extends AsyncDisposable {
  readonly db: TestDatabase;
  readonly pools: ConnectionPools;
  readonly options: DatabaseOptions;
  /** Connections that the server has for this database, apart from the one that asks. */
  serverCount(): Promise<number>;
}

async function fixture(
  changes: Partial<DatabaseOptions> & { maxConnections?: number; now?: () => number } = {},
): Promise<Fixture> {
  const { maxConnections = 100, now = Date.now, ...rest } = changes;
  const db = await createTestDatabase();
  const pools = createConnectionPools({ maxConnections, logger: silentLogger, now });
  return {
    db,
    pools,
    options: databaseOptions(db.url, rest),
    async serverCount() {
      const rows = await db.query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'postern'",
      );
      return Number(rows[0]?.[0]);
    },
    async [Symbol.asyncDispose]() {
      await pools.close();
      await db[Symbol.asyncDispose]();
    },
  };
}

async function backendOf(lease: Lease): Promise<number> {
  const { rows } = await lease.client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid ?? 0;
}

function stateOf(promise: Promise<unknown>): { settled: boolean } {
  const state = { settled: false };
  promise.then(() => state.settled = true, () => state.settled = true);
  return state;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

testWithPostgres("acquire() gives a principal its own connection again and never another's", async () => {
  await using f = await fixture();
  const first = await f.pools.acquire(f.options, token("a"), forever);
  await first.client.query("CREATE TEMP TABLE mine AS SELECT 1 AS x");
  const pid = await backendOf(first);
  first.release();

  const other = await f.pools.acquire(f.options, token("b"), forever);
  assert.notEqual(await backendOf(other), pid);
  await assert.rejects(other.client.query("SELECT * FROM mine"), { code: "42P01" });
  other.release();

  const again = await f.pools.acquire(f.options, token("a"), forever);
  assert.equal(await backendOf(again), pid);
  assert.equal((await again.client.query("SELECT * FROM mine")).rowCount, 1);
  again.release();
});

testWithPostgres("acquire() keeps databases of one name apart when their options differ", async () => {
  await using f = await fixture();
  const before = await f.pools.acquire(f.options, local, forever);
  const pid = await backendOf(before);
  before.release();
  const after = await f.pools.acquire({ ...f.options }, local, forever);
  assert.notEqual(await backendOf(after), pid);
  after.release();
});

testWithPostgres(
  "a connection speaks UTF-8, is named postern, and reads literals as the standard says",
  async () => {
    await using f = await fixture();
    await f.db.query(`ALTER DATABASE ${f.db.name} SET standard_conforming_strings = off`);
    Deno.env.set("PGOPTIONS", "-c work_mem=123kB");
    try {
      const lease = await f.pools.acquire(f.options, local, forever);
      const { rows } = await lease.client.query(
        "SELECT current_setting('application_name') AS a, current_setting('client_encoding') AS b, " +
          "current_setting('standard_conforming_strings') AS c, current_setting('work_mem') AS d",
      );
      assert.deepEqual({ ...rows[0] }, { a: "postern", b: "UTF8", c: "on", d: "4MB" });
      lease.release();
    } finally {
      Deno.env.delete("PGOPTIONS");
    }
  },
);

testWithPostgres("acquire() opens at most poolMaxConns and serves waiters in order", async () => {
  await using f = await fixture({ poolMaxConns: 2 });
  const [a, b] = await Promise.all([1, 2].map(() => f.pools.acquire(f.options, local, forever)));
  assert.ok(a && b);
  const order: number[] = [];
  const waiters = [1, 2, 3].map((n) =>
    f.pools.acquire(f.options, local, forever).then((lease) => {
      order.push(n);
      lease.release();
    })
  );
  await pause();
  assert.deepEqual(order, []);
  assert.equal(await f.serverCount(), 2);
  a.release();
  await Promise.all(waiters);
  assert.deepEqual(order, [1, 2, 3]);
  b.release();
  assert.equal(await f.serverCount(), 2);
});

testWithPostgres("callers take turns: one that asks for many connections waits for its own", async () => {
  const { promise: endless } = Promise.withResolvers<void>();
  const cases = [
    {
      name: "addresses without a token",
      many: [1, 2].map(() => at("192.0.2.1")),
      one: at("192.0.2.2"),
      bounds: {},
    },
    {
      name: "sessions of one user, at the total bound",
      many: [session("s1", "many"), session("s2", "many")],
      one: session("s3", "one"),
      bounds: { maxConnections: 2 },
    },
  ];
  for (const { name, many, one, bounds } of cases) {
    await using f = await fixture({ poolMaxConns: 2, ...bounds });
    const order: string[] = [];
    const held = await Promise.all(many.map((principal) => f.pools.acquire(f.options, principal, forever)));
    const ask = async (who: string, principal: Principal) => {
      const lease = await f.pools.acquire(f.options, principal, forever);
      order.push(who);
      if (who === "one") await endless;
      lease.release();
    };
    const asked = [...many, ...many, ...many].map((principal) => ask("many", principal));
    void ask("one", one);
    await pause();
    assert.equal(order.length, 0, name);
    held[0]?.release();
    await waitUntil(`${name}: the other one has its turn`, () => order.includes("one"));
    assert.deepEqual(order, ["one"], name);
    held[1]?.release();
    await Promise.all(asked);
  }
});

testWithPostgres("a waiter whose signal aborts leaves the queue with the signal's reason", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  const held = await f.pools.acquire(f.options, local, forever);
  const controller = new AbortController();
  const aborted = f.pools.acquire(f.options, local, controller.signal);
  const patient = f.pools.acquire(f.options, local, forever);
  controller.abort(new Error("gone"));
  await assert.rejects(aborted, { message: "gone" });
  held.release();
  (await patient).release();
  await assert.rejects(f.pools.acquire(f.options, local, AbortSignal.abort(new Error("early"))), {
    message: "early",
  });
});

testWithPostgres("a connection is closed when it has been idle for poolMaxConnIdleTimeMs", async () => {
  await using f = await fixture({ poolMaxConnIdleTimeMs: 100 });
  const lease = await f.pools.acquire(f.options, local, forever);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(await f.serverCount(), 1, "not while it is in use");
  lease.release();
  await waitUntil("the idle connection is closed", async () => await f.serverCount() === 0);
  const next = await f.pools.acquire(f.options, local, forever);
  await next.client.query("SELECT 1");
  next.release();
});

testWithPostgres("an idle time beyond what a timer holds does not close at once", async () => {
  await using f = await fixture({ poolMaxConnIdleTimeMs: 2 ** 40 });
  const lease = await f.pools.acquire(f.options, local, forever);
  lease.release();
  await pause();
  assert.equal(await f.serverCount(), 1);
});

testWithPostgres("at the total bound, the pool that was idle longest makes room", async () => {
  let clock = 0;
  await using f = await fixture({ maxConnections: 3, now: () => ++clock });
  const leases: Lease[] = [];
  for (const key of ["a", "b", "c"]) leases.push(await f.pools.acquire(f.options, token(key), forever));
  const pids = await Promise.all(leases.map(backendOf));
  for (const index of [1, 0, 2]) leases[index]?.release();

  const d = await f.pools.acquire(f.options, token("d"), forever);
  const left = await f.db.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'postern'",
  );
  const expected = [pids[0], pids[2], await backendOf(d)].map(String).sort();
  assert.deepEqual(left.flat().sort(), expected, "b was given back first");
  d.release();
});

testWithPostgres("at the total bound with nothing idle, waiters of all principals take turns", async () => {
  await using f = await fixture({ maxConnections: 1 });
  const held = await f.pools.acquire(f.options, token("a"), forever);
  const order: string[] = [];
  const waiters = ["b", "a", "c"].map((key) =>
    f.pools.acquire(f.options, token(key), forever).then(async (lease) => {
      order.push(key);
      assert.equal(await f.serverCount(), 1);
      lease.release();
    })
  );
  await pause();
  assert.deepEqual(order, []);
  held.release();
  await Promise.all(waiters);
  assert.deepEqual(order, ["b", "a", "c"]);
});

testWithPostgres("many principals on few connections are all served", async () => {
  await using f = await fixture({ maxConnections: 3, poolMaxConns: 2 });
  const served = await Promise.all(Array.from({ length: 60 }, async (_, n) => {
    const lease = await f.pools.acquire(f.options, token(String(n % 7)), forever);
    const { rows } = await lease.client.query<{ n: number }>(`SELECT ${n} AS n`);
    lease.release();
    return rows[0]?.n;
  }));
  assert.deepEqual(served, Array.from({ length: 60 }, (_, n) => n));
  assert.ok(await f.serverCount() <= 3);
});

testWithPostgres(
  "release() does not keep a connection that is in a transaction or awaits an answer",
  async () => {
    await using f = await fixture();
    const inTransaction = await f.pools.acquire(f.options, local, forever);
    await inTransaction.client.query("BEGIN");
    inTransaction.release();
    await waitUntil("the transaction's connection is closed", async () => await f.serverCount() === 0);

    const busy = await f.pools.acquire(f.options, local, forever);
    const query = busy.client.query("SELECT pg_sleep(60)");
    busy.release();
    await assert.rejects(query);
    await waitUntil("the busy connection is closed", async () => await f.serverCount() === 0);
  },
);

testWithPostgres("discard() closes for good, and giving back twice does no harm", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  const lease = await f.pools.acquire(f.options, local, forever);
  const pid = await backendOf(lease);
  lease.discard();
  lease.discard();
  lease.release();
  const next = await f.pools.acquire(f.options, local, forever);
  assert.notEqual(await backendOf(next), pid);
  next.release();
  assert.equal(await f.serverCount(), 1);
});

testWithPostgres(
  "closePrincipal() ends that principal's connections, those in use when given back",
  async () => {
    await using f = await fixture({ poolMaxConns: 2 });
    const [idle, used] = await Promise.all([1, 2].map(() => f.pools.acquire(f.options, token("a"), forever)));
    const grant = (grantId: string): Principal => ({
      kind: "issuer",
      issuer: "https://login.example",
      subject: "7",
      groups: [],
      grantId,
    });
    const kept = await f.pools.acquire(f.options, grant("g1"), forever);
    const keptPid = await backendOf(kept);
    kept.release();
    const other = await f.pools.acquire(f.options, token("b"), forever);
    assert.ok(idle && used);
    // another grant of the same person's
    await f.pools.closePrincipal(grant("g2"));
    const again = await f.pools.acquire(f.options, grant("g1"), forever);
    assert.equal(await backendOf(again), keptPid);
    again.release();
    await f.pools.closePrincipal(grant("g1"));
    const refused = f.pools.acquire(f.options, token("a"), forever);
    const refusal = assert.rejects(refused, {
      code: "unavailable",
      message: 'Cannot reach database "shop": its connections were closed',
    });
    await f.pools.closePrincipal(token("a"));
    await refusal;
    assert.equal((await used.client.query("SELECT 1")).rowCount, 1);
    used.release();
    idle.release();
    await waitUntil("only the other principal's is left", async () => await f.serverCount() === 1);
    other.release();
    const fresh = await f.pools.acquire(f.options, token("a"), forever);
    fresh.release();
  },
);

testWithPostgres(
  "close() ends connections in use too, with what they run, and refuses later callers",
  async () => {
    await using f = await fixture();
    const lease = await f.pools.acquire(f.options, local, forever);
    const query = assert.rejects(lease.client.query("SELECT pg_sleep(60)"));
    await pause();
    await f.pools.close();
    await query;
    await waitUntil("nothing is left", async () => await f.serverCount() === 0);
    await assert.rejects(f.pools.acquire(f.options, local, forever), { code: "unavailable" });
  },
);

testWithPostgres("cancel() ends the statement, and the connection does not serve again", async () => {
  await using f = await fixture();
  const lease = await f.pools.acquire(f.options, local, forever);
  const pid = await backendOf(lease);
  const query = lease.client.query("SELECT pg_sleep(60)");
  const failed = assert.rejects(query, { code: "57014" });
  await pause();
  assert.equal(await lease.cancelUntil(failed), true);
  const running = await f.db.query(
    "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(60)' AND datname = current_database()",
  );
  assert.deepEqual(running, []);
  lease.release();
  const next = await f.pools.acquire(f.options, local, forever);
  assert.notEqual(await backendOf(next), pid);
  next.release();
});

testWithPostgres("a connection that broke is lent to nobody, also before it has closed", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  for (const when of ["idle", "in use"]) {
    const broken = await f.pools.acquire(f.options, local, forever);
    const next = when === "in use" ? f.pools.acquire(f.options, local, forever) : undefined;
    if (when === "idle") broken.release();
    // as the driver hears of it
    Reflect.get(broken.client, "connection").emit("error", new Error("the server went away"));
    if (when === "in use") broken.release();
    const lease = await (next ?? f.pools.acquire(f.options, local, forever));
    assert.ok(await backendOf(lease) > 0, when);
    lease.release();
  }
});

testWithPostgres("an idle connection that the server ends is forgotten", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  const lease = await f.pools.acquire(f.options, local, forever);
  const pid = await backendOf(lease);
  lease.release();
  await f.db.query(`SELECT pg_terminate_backend(${pid})`);
  await pause();
  const next = await f.pools.acquire(f.options, local, forever);
  assert.notEqual(await backendOf(next), pid);
  next.release();
});

testWithPostgres("a connection in use that the server ends frees its place", async () => {
  await using f = await fixture({ poolMaxConns: 1 });
  const lease = await f.pools.acquire(f.options, local, forever);
  const waiting = f.pools.acquire(f.options, local, forever);
  const state = stateOf(waiting);
  await f.db.query(`SELECT pg_terminate_backend(${await backendOf(lease)})`);
  const next = await waiting;
  assert.ok(state.settled);
  await next.client.query("SELECT 1");
  lease.release();
  next.release();
});

testWithPostgres(
  "a probe needs no connection where callers just heard from the server, or one is idle",
  async () => {
    let time = 0;
    await using fixed = await fixture({ now: () => time });
    const { pools, options } = fixed;
    (await pools.acquire(options, token("a"), forever)).release();
    await pools.probe(options, forever);
    assert.equal(await fixed.serverCount(), 1);
    time += 60_000;
    await pools.probe(options, forever);
    assert.equal(await fixed.serverCount(), 1);
  },
);

testWithPostgres("a probe opens one connection, which callers take the place of", async () => {
  await using fixed = await fixture({ maxConnections: 1 });
  const { pools, options } = fixed;
  await pools.probe(options, forever);
  await pools.probe(options, forever);
  assert.equal(await fixed.serverCount(), 1);
  const lease = await pools.acquire(options, token("a"), forever);
  assert.equal((await lease.client.query("SELECT 1")).rowCount, 1);
  lease.release();
});

testWithPostgres(
  "a probe waits for no caller, and no caller for a probe, where all places are taken",
  async () => {
    let time = 0;
    await using fixed = await fixture({ maxConnections: 1, poolMaxConns: 1, now: () => time });
    const { pools, options } = fixed;
    const lease = await pools.acquire(options, token("a"), forever);
    const waiting = pools.acquire(options, token("b"), forever);
    time += 60_000;
    await pools.probe(options, forever);
    lease.release();
    (await waiting).release();
  },
);

testWithPostgres("a server that takes no more connections has answered a probe", async () => {
  let time = 0;
  await using fixed = await fixture({ now: () => time });
  await using role = await createLimitedRole(fixed.db, 1);
  const options = databaseOptions(role.url);
  const lease = await fixed.pools.acquire(options, token("a"), forever);
  time += 60_000;
  await fixed.pools.probe(options, forever);
  lease.release();
});

testWithPostgres(
  "a probe hears that a server is gone, and does not use up a connection's idle time",
  async () => {
    await using fixed = await fixture({ poolMaxConnIdleTimeMs: 300 });
    const { pools, options } = fixed;
    await pools.probe(options, forever);
    const closed = waitUntil("the idle connection closes", async () => await fixed.serverCount() === 0);
    await closed;
    await assert.rejects(
      pools.probe(databaseOptions(fixed.db.url, { hosts: [{ host: "127.0.0.1", port: 1 }] }), forever),
      { code: "unavailable" },
    );
  },
);

/** A server that takes connections and says nothing. */
function startSilentServer(): Disposable & { readonly options: DatabaseOptions } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open: Deno.Conn[] = [];
  void (async () => {
    for await (const connection of listener) open.push(connection);
  })();
  return {
    options: databaseOptions(`postgres://u@127.0.0.1:${listener.addr.port}/d`, { connectTimeoutMs: 60_000 }),
    [Symbol.dispose]() {
      listener.close();
      for (const connection of open) connection.close();
    },
  };
}

Deno.test("a server that accepts slowly lets no call wait beyond its bound", async () => {
  using server = startSilentServer();
  const waitBounds = { maxWaiting: 10, maxWaitMs: 50 };
  await using pools = createConnectionPools({ maxConnections: 4, waitBounds, logger: silentLogger });
  const asked = [1, 2].map(() => pools.acquire(server.options, local, forever));
  for (const each of asked) {
    await assert.rejects(each, {
      code: "overloaded",
      message: "Cannot run the call: it has waited 1 s for a connection to open; try again in 1 s",
    });
  }
});

Deno.test("to close a principal whose connection is opening refuses nobody else", async () => {
  using server = startSilentServer();
  await using pools = createConnectionPools({ maxConnections: 1, logger: silentLogger });
  const closed = assert.rejects(pools.acquire(server.options, token("a"), forever), { code: "unavailable" });
  const other = stateOf(pools.acquire(server.options, token("b"), forever));
  await pause();
  await pools.closePrincipal(token("a"));
  await closed;
  await pause();
  assert.equal(other.settled, false);
});
