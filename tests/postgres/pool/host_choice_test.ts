import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { silentLogger } from "../../../src/core/logger.ts";
import { type Principal, readerFor } from "../../../src/core/principal.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { type PostgresCluster, startCluster, testWithStandbys } from "../../support/postgres_cluster.ts";
import { startSeverableProxy } from "../../support/network/severable_proxy.ts";
import { waitUntil } from "../../support/wait_until.ts";

const token = (id: string): Principal => ({ kind: "token", id });
const tokens = ["a", "b", "c", "d", "e", "f"].map(token);
const forever = new AbortController().signal;

const guard = await createStatementGuard();

/** A database over the servers at some ports, as callers read it. */
function openDatabase(ports: readonly number[], changes: Partial<DatabaseOptions> = {}) {
  const pools = createConnectionPools({ maxConnections: 100, shortageWaitMs: 300, logger: silentLogger });
  const options = databaseOptions("postgres://postgres@127.0.0.1/postgres", {
    hosts: ports.map((port) => ({ host: "127.0.0.1", port })),
    targetSessionAttrs: "prefer-standby",
    maxReplicaLagMs: 3_000,
    ...changes,
  });
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  const read = async (principal: Principal, sql: string) => {
    const result = await database.read({ principal, sql, signal: forever, trusted: true });
    if (!result.ok) throw new Error(result.error.message);
    return result.rows[0]?.[0];
  };
  const portOf = async (principal: Principal) =>
    Number(await read(principal, "SELECT current_setting('port')"));
  return {
    pools,
    database,
    read,
    portOf,
    /** The ports of the servers that callers read from. */
    portsOf: (principals: readonly Principal[]) => Promise.all(principals.map(portOf)),
    [Symbol.asyncDispose]: () => pools.close(),
  };
}

/** A primary and two standbys that stream from it. */
async function startServers() {
  await using stack = new AsyncDisposableStack();
  const primary = stack.use(await startCluster());
  await primary.query("CREATE TABLE written (at timestamptz)");
  const one = stack.use(await startCluster({ standbyOf: primary }));
  const two = stack.use(await startCluster({ standbyOf: primary }));
  const moved = stack.move();
  const servers = [primary, one, two];
  return {
    primary,
    one,
    two,
    ports: servers.map(({ port }) => port),
    at: (port: number) => servers.find((server) => server.port === port) ?? primary,
    write: () => primary.query("INSERT INTO written VALUES (now())"),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

/** Writes until something is so: a standby is behind only where there is something that it has not. */
async function writeUntil(
  servers: { write(): Promise<unknown> },
  what: string,
  isSo: () => Promise<boolean>,
) {
  await waitUntil(what, async () => {
    await servers.write();
    return await isSo();
  });
}

const streams = (standby: PostgresCluster) =>
  waitUntil("the standby streams", async () => {
    const [row] = await standby.query("SELECT status FROM pg_stat_wal_receiver");
    return row?.[0] === "streaming";
  });

const counts = (ports: readonly number[]) => (port: number) => ports.filter((each) => each === port).length;

testWithStandbys("callers are spread over standbys, and keep theirs while it serves", async (t) => {
  await using servers = await startServers();
  const { primary, one, two, ports } = servers;
  for (const standby of [one, two]) await streams(standby);

  await t.step("each standby gets as many, the primary none; at once as well as one by one", async () => {
    for (const ask of ["at once", "one by one"]) {
      await using opened = openDatabase(ports);
      const got: number[] = [];
      if (ask === "at once") got.push(...await opened.portsOf(tokens));
      else for (const each of tokens) got.push(await opened.portOf(each));
      const count = counts(got);
      assert.deepEqual([primary, one, two].map(({ port }) => count(port)), [0, 3, 3]);
      for (let n = 0; n < 3; n++) assert.deepEqual(await opened.portsOf(tokens), got);
    }
  });

  await t.step(
    "callers who share connections are spread as well, and sessions of a user are together",
    async () => {
      await using opened = openDatabase(ports);
      const got = await opened.portsOf(tokens.map(readerFor));
      assert.deepEqual([one, two].map(({ port }) => counts(got)(port)), [3, 3]);
      const session = (id: string): Principal => ({ kind: "session", id, username: "ada" });
      const [first, ...others] = await opened.portsOf(["1", "2", "3", "4"].map(session));
      assert.deepEqual(others, [first, first, first]);
    },
  );

  await t.step("hosts are looked at over one connection each, and not in calls", async () => {
    await using opened = openDatabase(ports);
    const looks = async () => {
      const rows = await Promise.all([primary, one, two].map(({ query }) =>
        query(
          "SELECT pid, query_start FROM pg_stat_activity WHERE query LIKE '%AS is\\_standby) look' AND pid <> pg_backend_pid()",
        )
      ));
      return rows.map((ofHost) => ofHost.map((row) => row.join(" ")));
    };
    await opened.portsOf(tokens);
    const before = await looks();
    assert.deepEqual(before.map(({ length }) => length), [1, 1, 1]);
    for (let n = 0; n < 10; n++) await opened.portsOf(tokens);
    const [some = "", later = ""] = [before, await looks()].map((each) => JSON.stringify(each));
    // a look a second
    if (some !== later) await waitUntil("the next look", async () => JSON.stringify(await looks()) !== later);
    assert.deepEqual((await looks()).map(({ length }) => length), [1, 1, 1]);
  });

  await t.step("what is known of the hosts is told while the database is in use", async () => {
    await using opened = openDatabase(ports);
    assert.deepEqual(opened.database.hosts(), []);
    await opened.portOf(token("a"));
    assert.deepEqual(
      opened.database.hosts(),
      [primary, one, two].map(({ port }) => ({
        host: `127.0.0.1:${port}`,
        role: port === primary.port ? "primary" : "standby",
        lagMs: 0,
      })),
    );
  });

  await t.step("without max_replica_lag, and with one host, it is as libpq has it", async () => {
    await using one = openDatabase([servers.one.port]);
    assert.deepEqual(await one.portsOf(tokens.slice(0, 1)), [servers.one.port]);
    assert.deepEqual(one.database.hosts(), []);
    await using several = openDatabase(ports, { targetSessionAttrs: "any" });
    assert.deepEqual(new Set(await several.portsOf(tokens)), new Set([primary.port]));
    assert.deepEqual(several.database.hosts(), []);
  });

  await t.step("a role that may see no details of the receiver measures the same", async () => {
    await primary.query("CREATE ROLE plain LOGIN");
    await waitUntil("the role is there", async () => {
      const rows = await Promise.all(
        [one, two].map(({ query }) => query("SELECT FROM pg_roles WHERE rolname = 'plain'")),
      );
      return rows.every(({ length }) => length === 1);
    });
    await using opened = openDatabase(ports, { user: "plain" });
    await opened.portOf(token("a"));
    assert.deepEqual(opened.database.hosts().map(({ lagMs }) => lagMs), [0, 0, 0]);
  });

  await t.step("a host that takes no more connections is not left", async () => {
    await primary.query("ALTER ROLE plain CONNECTION LIMIT 2");
    const isLimited = async ({ query }: PostgresCluster) =>
      (await query("SELECT FROM pg_roles WHERE rolname = 'plain' AND rolconnlimit = 2")).length === 1;
    await waitUntil(
      "it is limited",
      async () => (await Promise.all([one, two].map(isLimited))).every(Boolean),
    );
    await using opened = openDatabase(ports, { user: "plain" });
    const sql = "SELECT current_setting('port'), pg_sleep(0.1)";
    const got = await Promise.all([1, 2, 3, 4].map(() => opened.read(token("a"), sql)));
    assert.equal(new Set(got).size, 1);
    // the looks have one connection of each host, these the other
    const busy = ["a", "b"].map((id) => opened.read(token(id), "SELECT pg_sleep(2)"));
    await waitUntil("they run", async () => {
      const running = "SELECT FROM pg_stat_activity WHERE query LIKE '%pg\\_sleep(2)%' AND usename = 'plain'";
      return (await Promise.all([one, two].map(({ query }) => query(running)))).every(({ length }) =>
        length === 1
      );
    });
    await assert.rejects(opened.portOf(token("c")), {
      message: /^Cannot reach database "shop": its server takes no more connections /,
    });
    await Promise.all(busy);
    assert.ok(opened.database.hosts().every(({ role }) => role !== "unreachable"));
  });

  await t.step("a host that hangs is none", async () => {
    await using proxy = await startSeverableProxy({ host: "127.0.0.1", port: one.port });
    proxy.goSilent();
    await using opened = openDatabase([primary.port, proxy.port]);
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([primary.port]));
    assert.deepEqual(opened.database.hosts().map(({ role }) => role), ["primary", "unreachable"]);
  });

  await t.step("a primary that does not write for long is no lag", async () => {
    // longer than the bound
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    await using opened = openDatabase(ports);
    assert.ok(!(await opened.portsOf(tokens)).includes(primary.port));
    // what the standbys had a moment ago is as old as that moment, not as the last commit
    await primary.kill();
    await waitUntil("it is gone", () => Promise.resolve(opened.database.hosts()[0]?.role === "unreachable"));
    assert.ok(!(await opened.portsOf(tokens)).includes(primary.port));
    await waitUntil("they are behind", () => opened.portOf(token("a")).then(() => false, () => true));
  });
});

testWithStandbys("callers leave a standby that is behind, and do not return", async (t) => {
  await using servers = await startServers();
  const { primary, one, two, ports } = servers;
  for (const standby of [one, two]) await streams(standby);
  await using opened = openDatabase(ports);
  const before = await opened.portsOf(tokens);
  const lagging = servers.at(before[0] ?? 0);
  const other = lagging === one ? two : one;

  await t.step("its replay is paused: they go to the other standby, as do new ones", async () => {
    await lagging.query("SELECT pg_wal_replay_pause()");
    await writeUntil(servers, "they have moved", async () => {
      return (await opened.portsOf(tokens)).every((port) => port === other.port);
    });
    const told = opened.database.hosts().find(({ host }) => host.endsWith(`:${lagging.port}`));
    assert.equal(told?.role, "standby");
    assert.ok((told?.lagMs ?? 0) > 3_000 && (told?.lagMs ?? Infinity) < 60_000, `${told?.lagMs}`);
    assert.equal(await opened.portOf(token("new")), other.port);
  });

  await t.step("it has caught up: those who moved stay, new ones come to it", async () => {
    await lagging.query("SELECT pg_wal_replay_resume()");
    await waitUntil(
      "it serves",
      () => Promise.resolve(opened.database.hosts().every(({ lagMs }) => lagMs === 0)),
    );
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([other.port]));
    assert.equal(await opened.portOf(token("newer")), lagging.port);
  });

  await t.step("the receiver is cut off: they leave once it is behind by more than the bound", async () => {
    const [conninfo] = await other.query("SELECT current_setting('primary_conninfo')");
    await other.setParameter("primary_conninfo", "");
    await other.setParameter("wal_retrieve_retry_interval", "100ms");
    await writeUntil(servers, "they have moved", async () => {
      return (await opened.portsOf(tokens)).every((port) => port === lagging.port);
    });
    await other.setParameter("primary_conninfo", String(conninfo?.[0]).replaceAll("'", "''"));
    await streams(other);
  });

  await t.step(
    "the receiver's network is dead, which PostgreSQL does not notice: they leave as well",
    async () => {
      const [row] = await lagging.query("SELECT pid FROM pg_stat_wal_receiver");
      Deno.kill(Number(row?.[0]), "SIGSTOP");
      try {
        await writeUntil(servers, "they have moved", async () => {
          return (await opened.portsOf(tokens)).every((port) => port === other.port);
        });
        assert.deepEqual(await lagging.query("SELECT status FROM pg_stat_wal_receiver"), [["streaming"]]);
      } finally {
        Deno.kill(Number(row?.[0]), "SIGCONT");
      }
      await waitUntil(
        "it serves",
        () => Promise.resolve(opened.database.hosts().every(({ lagMs }) => lagMs === 0)),
      );
    },
  );

  await t.step("all standbys are behind: they go to the primary, and stay there", async () => {
    for (const standby of [one, two]) await standby.query("SELECT pg_wal_replay_pause()");
    await writeUntil(servers, "they have moved", async () => {
      return (await opened.portsOf(tokens)).every((port) => port === primary.port);
    });
    for (const standby of [one, two]) await standby.query("SELECT pg_wal_replay_resume()");
    await waitUntil(
      "they serve",
      () => Promise.resolve(opened.database.hosts().every(({ lagMs }) => lagMs === 0)),
    );
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([primary.port]));
    assert.notEqual(await opened.portOf(token("newest")), primary.port);
  });

  await t.step("there is no primary, and none within the bound: the error names hosts and lag", async () => {
    for (const standby of [one, two]) await standby.query("SELECT pg_wal_replay_pause()");
    await servers.write();
    await primary.kill();
    let message = "";
    await waitUntil("no host serves", async () => {
      message = await opened.portOf(token("last")).then(() => "", (error) => error.message);
      return message !== "";
    });
    assert.match(
      message.replace(String(primary.port), "P").replace(String(one.port), "1").replace(
        String(two.port),
        "2",
      ),
      /^Cannot reach database "shop": no host is a primary, or a standby within max_replica_lag \(3 s\): 127\.0\.0\.1:P: connection refused; 127\.0\.0\.1:1: \d s behind; 127\.0\.0\.1:2: \d s behind$/,
    );
    assert.deepEqual(opened.database.hosts().map(({ role }) => role), ["unreachable", "standby", "standby"]);
  });
});

testWithStandbys("a caller's next call is answered where its host has died", async (t) => {
  await using servers = await startServers();
  const { primary, one, two, ports } = servers;
  for (const standby of [one, two]) await streams(standby);
  await using opened = openDatabase(ports, { maxReplicaLagMs: 60_000 });

  await t.step(
    "the other standby is within the bound, but further behind: they go to the primary",
    async () => {
      await using opened = openDatabase(ports, { maxReplicaLagMs: 60_000 });
      const before = await opened.portsOf(tokens);
      const lagOfOne = () => opened.database.hosts()[1]?.lagMs ?? 0;
      await one.query("SELECT pg_wal_replay_pause()");
      await writeUntil(servers, "it is behind", () => Promise.resolve(lagOfOne() > 2_000));
      await two.kill();
      const wanted = before.map((port) => port === two.port ? primary.port : port);
      assert.deepEqual(await opened.portsOf(tokens), wanted);
      assert.ok(wanted.includes(one.port));
      await one.query("SELECT pg_wal_replay_resume()");
      await two.start();
      await streams(two);
      await waitUntil(
        "they serve",
        () => Promise.resolve(opened.database.hosts().every(({ lagMs }) => lagMs === 0)),
      );
      assert.deepEqual(await opened.portsOf(tokens), wanted);
    },
  );

  await t.step("a standby ends its connections: 57P01", async () => {
    await opened.portsOf(tokens);
    await one.stop();
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([two.port]));
  });

  await t.step("it is back: those who moved stay, and the other crashes", async () => {
    await one.start();
    await streams(one);
    await waitUntil("it serves", () => Promise.resolve(opened.database.hosts()[1]?.role === "standby"));
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([two.port]));
    await two.kill();
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([one.port]));
  });

  await t.step("no standby is left: the primary answers", async () => {
    await one.kill();
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([primary.port]));
    await one.start();
    await two.start();
    for (const standby of [one, two]) await streams(standby);
  });

  await t.step("the primary dies: standbys answer while they are within the bound", async () => {
    await waitUntil(
      "they serve",
      () => Promise.resolve(opened.database.hosts().every(({ lagMs }) => lagMs === 0)),
    );
    await primary.kill();
    assert.ok(!(await opened.portsOf(tokens)).includes(primary.port));
    assert.ok(!(await opened.portsOf(["g", "h"].map(token))).includes(primary.port));
  });

  await t.step("a standby is promoted: it is the primary, and one of before is none", async () => {
    await one.query("SELECT pg_promote()");
    await two.stop();
    assert.deepEqual(new Set(await opened.portsOf(tokens)), new Set([one.port]));
    await waitUntil(
      "it is the primary",
      () => Promise.resolve(opened.database.hosts()[1]?.role === "primary"),
    );
    assert.deepEqual(new Set(await opened.portsOf([...tokens, token("i")])), new Set([one.port]));
    // it does not know of the promotion, and has none of what was written since
    await primary.start();
    await waitUntil("it is seen", () => Promise.resolve(opened.database.hosts()[0]?.role === "primary"));
    assert.equal(opened.database.hosts()[0]?.lagMs, Infinity);
    assert.deepEqual(new Set(await opened.portsOf([...tokens, token("j")])), new Set([one.port]));
  });
});

/** A relay that can cut those who are connected when they next send something: what they send comes to nobody. */
async function startCuttingRelay(port: number) {
  const clients = new Set<Socket>();
  const cut = new WeakSet<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    clients.add(client);
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.on("data", (data) => {
      if (!cut.has(client)) return void upstream.write(data);
      cuts++;
      client.destroy();
    });
    upstream.on("data", (data) => client.write(data));
    upstream.on("close", () => client.destroy());
    client.on("close", () => {
      upstream.destroy();
      clients.delete(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    port: address.port,
    cutOpen: () => clients.forEach((client) => cut.add(client)),
    cuts: () => cuts,
    async [Symbol.asyncDispose]() {
      // of Deno 2.4, the server's own word that all are closed may never come
      server.close();
      const closed = [...clients].map((client) => new Promise((resolve) => client.once("close", resolve)));
      for (const client of clients) client.destroy();
      await Promise.all(closed);
    },
  };
}

testWithStandbys(
  "a connection that is dead at its first use costs no call, and no statement runs twice",
  async (t) => {
    await using primary = await startCluster();
    await using standby = await startCluster({ standbyOf: primary });
    await streams(standby);
    await using relay = await startCuttingRelay(standby.port);
    await using opened = openDatabase([primary.port, relay.port]);
    const a = token("a");

    await t.step("all that are idle are dead", async () => {
      await Promise.all([1, 2, 3].map(() => opened.read(a, "SELECT pg_sleep(0.2)")));
      relay.cutOpen();
      assert.equal(await opened.portOf(a), standby.port);
      assert.ok(relay.cuts() >= 3);
    });

    await t.step("the statement had begun: it fails as ever", async () => {
      const killed = async () => {
        const [row] = await primary.query(
          "SELECT sessions_killed FROM pg_stat_database WHERE datname = 'postgres'",
        );
        return Number(row?.[0]);
      };
      const before = await killed();
      await using writing = openDatabase([primary.port, standby.port], { maxReplicaLagMs: 60_000 });
      await standby.stop();
      await writing.portOf(a);
      await assert.rejects(
        writing.read(a, "SELECT pg_terminate_backend(pg_backend_pid())"),
        { message: 'Cannot read from database "shop": the connection was lost; try again' },
      );
      assert.equal(await writing.portOf(a), primary.port);
      await waitUntil("it is counted", async () => await killed() > before);
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(await killed() - before, 1);
    });

    await t.step(
      "the statement had begun, and the server crashes over it: it is not tried on the next",
      async () => {
        await standby.start();
        await streams(standby);
        await using opened = openDatabase([primary.port, standby.port], { maxReplicaLagMs: 60_000 });
        await opened.portOf(a);
        const lost = assert.rejects(opened.read(a, "SELECT pg_sleep(20)"), {
          message: 'Cannot read from database "shop": the connection was lost; try again',
        });
        const backend =
          "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg\\_sleep(20)%' AND pid <> pg_backend_pid()";
        await waitUntil("it runs", async () => (await standby.query(backend)).length === 1);
        const [row] = await standby.query(backend);
        Deno.kill(Number(row?.[0]), "SIGKILL");
        await lost;
        assert.ok([primary.port, standby.port].includes(await opened.portOf(a)));
      },
    );
  },
);
