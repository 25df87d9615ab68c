import assert from "node:assert/strict";
import { createConnection } from "node:net";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { startSeverableProxy } from "../../support/network/severable_proxy.ts";
import { waitUntil } from "../../support/wait_until.ts";

const forever = new AbortController().signal;
const proxyFor = (options: DatabaseOptions) => startSeverableProxy(options.hosts[0] ?? { host: "", port: 0 });
const attempt = (options: DatabaseOptions) => connect(options, { signal: forever, logger: silentLogger });

testWithPostgres(
  "a database that goes down is unavailable, and served again as soon as it is back",
  async () => {
    await using db = await createTestDatabase();
    await using proxy = await proxyFor(databaseOptions(db.url));
    const options = databaseOptions(db.url, { hosts: [{ host: "127.0.0.1", port: proxy.port }] });
    await using pools = createConnectionPools({ maxConnections: 10, logger: silentLogger });
    const idle = await pools.acquire(options, { kind: "local" }, forever);
    const inUse = await pools.acquire(options, { kind: "local" }, forever);
    idle.release();
    const running = assert.rejects(inUse.client.query("SELECT pg_sleep(60)"));

    await proxy.stop();
    await running;
    inUse.release();
    await waitUntil("the idle connection is gone", async () => {
      const result = await pools.acquire(options, { kind: "local" }, forever).catch((error) => error);
      return result instanceof Error &&
        result.message === 'Cannot reach database "shop": connection refused';
    });

    await proxy.start();
    const back = await pools.acquire(options, { kind: "local" }, forever);
    assert.equal((await back.client.query("SELECT 1")).rowCount, 1);
    back.release();
  },
);

testWithPostgres("many who wait for a database that does not answer fail together", async () => {
  await using db = await createTestDatabase();
  await using proxy = await proxyFor(databaseOptions(db.url));
  proxy.goSilent();
  const options = databaseOptions(db.url, {
    hosts: [{ host: "127.0.0.1", port: proxy.port }],
    poolMaxConns: 2,
    pooler: "none",
    connectTimeoutMs: 300,
  });
  await using pools = createConnectionPools({ maxConnections: 10, logger: silentLogger });
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, () => pools.acquire(options, { kind: "local" }, forever)),
  );
  for (const result of results) {
    assert.equal(result.status, "rejected");
    assert.equal(result.reason.message, 'Cannot reach database "shop": no answer in time');
  }
  assert.equal(proxy.accepted(), 2, "the waiters shared the failure of the two that tried");
});

testWithPostgres("an abort ends an attempt with the signal's reason", async () => {
  await using db = await createTestDatabase();
  await using proxy = await proxyFor(databaseOptions(db.url));
  proxy.goSilent();
  const options = databaseOptions(db.url, { hosts: [{ host: "127.0.0.1", port: proxy.port }] });
  const controller = new AbortController();
  const connecting = connect(options, { signal: controller.signal, logger: silentLogger });
  await waitUntil("the attempt is under way", () => proxy.accepted() === 1);
  controller.abort(new Error("gone"));
  await assert.rejects(connecting, { message: "gone" });
});

testWithPostgres("hosts are tried in order, past those that do not answer", async () => {
  await using db = await createTestDatabase();
  const [real] = databaseOptions(db.url).hosts;
  assert.ok(real);
  await using proxy = await proxyFor(databaseOptions(db.url));
  const down = { host: "127.0.0.1", port: proxy.port };
  await proxy.stop();
  const hosts = [down, { host: "no-such-host.invalid", port: 5432 }, { host: "/nonexistent", port: 5432 }];
  const connection = await attempt(databaseOptions(db.url, { hosts: [...hosts, real] }));
  await connection.close();
  await assert.rejects(attempt(databaseOptions(db.url, { hosts })), (error: Error) => {
    assert.match(
      error.message,
      /^Cannot reach database "shop": connection refused; .*; it has no socket there$/,
    );
    assert.doesNotMatch(error.message, /127\.0\.0\.1|no-such-host/);
    return true;
  });
});

testWithPostgres("a name is tried with all of its addresses", async () => {
  await using db = await createTestDatabase();
  const port = Number(new URL(db.url).port);
  const connection = await attempt(databaseOptions(db.url, { hosts: [{ host: "localhost", port }] }));
  await connection.close();
});

testWithPostgres("what the server answers is told, with its SQLSTATE", async () => {
  await using db = await createTestDatabase();
  await assert.rejects(attempt(databaseOptions(db.url, { database: "nowhere" })), {
    code: "unavailable",
    message: 'Cannot log in to database "shop": database "nowhere" does not exist',
    data: { sqlState: "3D000" },
  });
  await assert.rejects(attempt(databaseOptions(db.url, { user: "nobody_at_all" })), {
    code: "unavailable",
    message: 'Cannot log in to database "shop": role "nobody_at_all" does not exist',
    data: { sqlState: "28000" },
  });
});

type Attrs = DatabaseOptions["targetSessionAttrs"];
const sessions: [setting: "on" | "off", taken: Attrs[], refused: Attrs[]][] = [
  ["off", ["any", "read-write", "primary", "prefer-standby"], ["read-only", "standby"]],
  ["on", ["any", "read-only", "primary", "prefer-standby"], ["read-write", "standby"]],
];
for (const [setting, taken, refused] of sessions) {
  testWithPostgres(`target_session_attrs where default_transaction_read_only is ${setting}`, async () => {
    await using db = await createTestDatabase();
    await db.query(`ALTER DATABASE ${db.name} SET default_transaction_read_only = ${setting}`);
    for (const targetSessionAttrs of taken) {
      await (await attempt(databaseOptions(db.url, { targetSessionAttrs }))).close();
    }
    for (const targetSessionAttrs of refused) {
      await assert.rejects(attempt(databaseOptions(db.url, { targetSessionAttrs })), { code: "unavailable" });
    }
  });
}

testWithPostgres("no secret reaches the log of a failed connect", async () => {
  await using db = await createTestDatabase();
  const lines: string[] = [];
  const logger = createLogger({ level: "debug", format: "json", write: (line) => void lines.push(line) });
  const options = databaseOptions(db.url, { user: "nobody_at_all", password: "hunter2hunter2" });
  await assert.rejects(connect(options, { signal: forever, logger }), (error: Error) => {
    assert.doesNotMatch(`${error.message}${error.stack}`, /hunter2/);
    return true;
  });
  assert.ok(lines.length > 0);
  assert.doesNotMatch(lines.join(""), /hunter2/);
});

testWithPostgres("openStream stands in for the network, hosts and TLS", async () => {
  await using db = await createTestDatabase();
  const [real] = databaseOptions(db.url).hosts;
  assert.ok(real);
  const openStream = () => createConnection(real.port, real.host);
  const connection = await attempt(
    databaseOptions(db.url, { hosts: [], sslMode: "verify-full", openStream }),
  );
  assert.equal((await connection.client.query("SELECT 1")).rowCount, 1);
  await connection.close();
});
