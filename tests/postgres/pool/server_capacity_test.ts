import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { createLogger, type Logger, silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { pg } from "../../../src/postgres/connection.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { connectError } from "../../../src/postgres/connect/connect_error.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createServerCapacity, isShortage } from "../../../src/postgres/pool/server_capacity.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { waitUntil } from "../../support/wait_until.ts";
import type { Lease } from "../../../src/postgres/pool/principal_pool.ts";

const local = { kind: "local" } as const;
const token = (id: string): Principal => ({ kind: "token", id });
const forever = new AbortController().signal;
const database = databaseOptions("postgres://reader@db:5432/docs");
const full = new AppError("unavailable", "full", { data: { retryAfterSeconds: 1 } });

function logOf(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  return {
    lines,
    logger: createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) }),
  };
}

Deno.test("isShortage() knows a server without room by its SQLSTATE, and poolers by their words", () => {
  const error = (sqlState: string, reason: string) =>
    connectError(database, [{ stage: "login", reason, sqlState, isAuthenticated: false, cause: undefined }]);
  assert.equal(isShortage(error("53300", "zu viele Verbindungen")), true);
  assert.equal(isShortage(error("08P01", "no more connections allowed (max_client_conn)")), true);
  assert.equal(isShortage(error("XX000", "Max client connections reached")), true);
  assert.equal(isShortage(error("28P01", "password authentication failed")), false);
  assert.equal(isShortage(error("3D000", 'database "docs" does not exist')), false);
});

Deno.test("a server that refused is tried again after longer and longer waits, and where a connection closed", () => {
  let clock = 0;
  const capacity = createServerCapacity({ now: () => clock, logger: silentLogger });
  const refuse = () => {
    capacity.began();
    capacity.refused(full, database);
  };
  assert.equal(capacity.mayOpen(true), true);
  refuse();
  const waits: number[] = [];
  for (let n = 0; n < 9; n++) {
    assert.equal(capacity.mayOpen(true), false);
    const wait = capacity.untilTryMs(true) ?? 0;
    waits.push(wait);
    clock += wait;
    assert.equal(capacity.mayOpen(true), true);
    refuse();
  }
  assert.deepEqual(waits, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  // who has no connection at all does not wait so long
  for (let n = 0; n < 3; n++) {
    assert.equal(capacity.mayOpen(false), false);
    assert.equal(capacity.untilTryMs(false), 1_000);
    clock += 1_000;
    assert.equal(capacity.mayOpen(false), true);
    refuse();
  }

  capacity.closed();
  assert.equal(capacity.mayOpen(true), true);
  capacity.began();
  assert.equal(capacity.mayOpen(true), false, "one closed, and one is opened in its place");
  capacity.opened();
  assert.equal(capacity.mayOpen(true), false);

  // the process of one that closed may take a moment to end
  capacity.closed();
  for (const wait of [20, 40, 80, 160, 320]) {
    assert.equal(capacity.mayOpen(true), true);
    refuse();
    assert.equal(capacity.mayOpen(true), false);
    assert.equal(capacity.untilTryMs(true), wait);
    clock += wait;
  }
  refuse();
  assert.ok((capacity.untilTryMs(true) ?? 0) > 1_000, "something else has taken its place");

  clock += 30_000;
  capacity.began();
  assert.equal(capacity.mayOpen(false), false, "one after another");
  capacity.opened();
  assert.equal(capacity.mayOpen(true), true, "there is more room than was known");
});

Deno.test("several refusals at once count as one, and the log tells of them once a minute", () => {
  let clock = 0;
  const { lines, logger } = logOf();
  const capacity = createServerCapacity({ now: () => clock, logger });
  for (let n = 0; n < 5; n++) capacity.began();
  for (let n = 0; n < 5; n++) capacity.refused(full, database);
  assert.equal(capacity.untilTryMs(true), 250);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? "",
    /Raise the role's CONNECTION LIMIT or PostgreSQL's max_connections, or lower pool_max_conns.* role=reader pool_max_conns=4/,
  );
  clock += 60_000;
  capacity.began();
  capacity.refused(full, database);
  assert.equal(lines.length, 2);
});

/** Pools over a role with few connections. */
async function fixture(
  limit: number,
  { shortageWaitMs, logger = silentLogger, ...changes }: Partial<DatabaseOptions> & {
    shortageWaitMs?: number;
    logger?: Logger;
  } = {},
) {
  await using opening = new AsyncDisposableStack();
  const db = opening.use(await createTestDatabase());
  const role = opening.use(await createLimitedRole(db, limit));
  const pools = opening.use(createConnectionPools({
    maxConnections: 100,
    logger,
    ...(shortageWaitMs !== undefined && { shortageWaitMs }),
  }));
  const stack = opening.move();
  return {
    role,
    pools,
    /** Of one pipeline or database; each call gives pools of their own. */
    options: () => databaseOptions(role.url, { poolMaxConns: 10, ...changes }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function use(lease: Lease): Promise<void> {
  await lease.client.query("SELECT pg_sleep(0.005)");
  lease.release();
}

testWithPostgres("eight callers of a role with three connections are all served", async () => {
  await using f = await fixture(3);
  const options = f.options();
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let n = 0; n < 10; n++) await use(await f.pools.acquire(options, local, forever));
  }));
  assert.equal(await f.role.count(), 3, "all that there are serve");
});

testWithPostgres(
  "pipelines, tokens and sessions that share a role's connections all have their turn",
  async () => {
    for (const limit of [1, 2, 3]) {
      await using f = await fixture(limit);
      const options = [f.options(), f.options(), f.options()];
      const callers = options.flatMap((database) =>
        [local, token("a"), token("b")].map((principal) => ({ database, principal }))
      );
      await Promise.all(callers.map(async ({ database, principal }) => {
        for (let n = 0; n < 5; n++) await use(await f.pools.acquire(database, principal, forever));
      }));
      assert.ok(await f.role.count() <= limit);
    }
  },
);

testWithPostgres(
  "a pool that is never idle does not keep another one from its first connection",
  async () => {
    await using f = await fixture(2);
    const [busy, late] = [f.options(), f.options()];
    const stop = new AbortController();
    const served = Promise.all(Array.from({ length: 6 }, async () => {
      while (!stop.signal.aborted) await use(await f.pools.acquire(busy, local, forever));
    }));
    await waitUntil("the busy one has all connections", async () => await f.role.count() === 2);
    for (let n = 0; n < 5; n++) await use(await f.pools.acquire(late, local, forever));
    stop.abort();
    await served;
  },
);

testWithPostgres("more room is used as soon as there is some", async () => {
  await using f = await fixture(1);
  const options = f.options();
  const first = await f.pools.acquire(options, local, forever);
  const second = f.pools.acquire(options, local, forever);
  await f.role.setLimit(2);
  (await second).release();
  first.release();
});

testWithPostgres("who can have no connection at all is told what to raise, after a time", async () => {
  const { lines, logger } = logOf();
  await using f = await fixture(1, { shortageWaitMs: 300, logger });
  const other = new pg.Client({ connectionString: f.role.url });
  await other.connect();
  try {
    await assert.rejects(f.pools.acquire(f.options(), local, forever), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, "unavailable");
      assert.equal(
        error.message,
        `Cannot reach database "shop": its server takes no more connections (too many connections for role ` +
          `"${f.role.name}"); try again later, or ask the operator to raise the CONNECTION LIMIT of role ` +
          `"${f.role.name}" or the server's max_connections`,
      );
      assert.deepEqual(error.data, { sqlState: "53300", retryAfterSeconds: 1 });
      return true;
    });
  } finally {
    await other.end();
  }
  assert.equal(lines.length, 1);
  // what took it has left, which the server notices a little later
  await waitUntil("the role has room again", () =>
    f.pools.acquire(f.options(), local, forever).then(
      (lease) => use(lease).then(() => true),
      () => false,
    ));
});

testWithPostgres("a caller who leaves while it waits is told of, with what to raise", async () => {
  const { lines, logger } = logOf();
  let clock = 0;
  await using db = await createTestDatabase();
  await using pools = createConnectionPools({ maxConnections: 2, logger, now: () => clock });
  const options = databaseOptions(db.url, { poolMaxConns: 1 });
  const held = await pools.acquire(options, local, forever);
  const leaving = async (principal: Principal, database: DatabaseOptions, waitedMs: number) => {
    const controller = new AbortController();
    const waiting = pools.acquire(database, principal, controller.signal);
    clock += waitedMs;
    controller.abort(new Error("gone"));
    await assert.rejects(waiting, { message: "gone" });
  };
  await leaving(local, options, 500);
  assert.equal(lines.length, 0, "after a short wait nothing is said");
  await leaving(local, options, 2_000);
  await leaving(local, options, 2_000);
  assert.equal(lines.length, 1, "once a minute");
  assert.match(lines[0] ?? "", /waited for a database connection; .* raise pool_max_conns/);
  const more = await pools.acquire(options, token("a"), forever);
  await leaving(token("b"), { ...options }, 2_000);
  assert.match(lines[1] ?? "", /raise max_connections/);
  held.release();
  more.release();
});
