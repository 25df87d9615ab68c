import assert from "node:assert/strict";
import { createConfigFolder } from "../../support/configured_server.ts";
import { startCluster, testWithStandbys } from "../../support/postgres_cluster.ts";
import { scrape } from "../../support/scrape.ts";
import { runProgram, startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

testWithStandbys("callers read from standbys through lag, death and promotion", async (t) => {
  await using primary = await startCluster();
  await primary.query("CREATE TABLE written (at timestamptz)");
  await using one = await startCluster({ standbyOf: primary });
  await using two = await startCluster({ standbyOf: primary });
  const servers = [primary, one, two];
  await using folder = await createConfigFolder(`
databases:
  - name: shop
    hosts: [${servers.map(({ port }) => `{ host: 127.0.0.1, port: ${port} }`).join(", ")}]
    target_session_attrs: prefer-standby
    max_replica_lag: 3s
    database: postgres
    user: postgres
    sslmode: disable
metrics: { address: 127.0.0.1:0 }
`);
  const tokens = await Promise.all([1, 2, 3, 4].map(() => folder.addToken()));
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const clients = tokens.map(({ token }) => createToolClient({ url: server.url, token }));
  /** The ports of the servers that callers read from; no call may fail. */
  const ports = () =>
    Promise.all(clients.map(async ({ call }) => {
      const { data, text } = await call("query_database", { query: "SELECT current_setting('port')" });
      const rows = data["rows"];
      assert.ok(Array.isArray(rows), text);
      return Number(rows[0][0]);
    }));
  const all = (port: number) => clients.map(() => port);
  const lagOf = async ({ port }: { port: number }, role: string) => {
    const host = `127.0.0.1:${port}`;
    const { samples } = await scrape(server);
    return samples.find(({ name, labels }) =>
      name === "postern_database_host_lag_seconds" && labels["host"] === host && labels["role"] === role
    )?.value;
  };

  await t.step("each standby has some of them", async () => {
    const before = await ports();
    // the server itself has one too
    assert.deepEqual(new Set(before), new Set([one.port, two.port]));
    assert.deepEqual(await ports(), before);
    assert.deepEqual([await lagOf(primary, "primary"), await lagOf(one, "standby")], [0, 0]);
  });

  await t.step("-doctor and /ready tell of the hosts", async () => {
    const { stdout } = await runProgram(["-config", folder.configFile, "-doctor"]);
    assert.match(stdout, new RegExp(`127\\.0\\.0\\.1:${primary.port}: primary`));
    assert.match(stdout, new RegExp(`127\\.0\\.0\\.1:${two.port}: standby, 0 s behind`));
    const response = await fetch(`${server.url}/ready`);
    assert.equal((await response.json()).status, "ready");
  });

  await t.step("one is behind: its callers move", async () => {
    await primary.query("INSERT INTO written VALUES (now())");
    await waitUntil("it is replayed", async () => (await one.query("SELECT FROM written")).length === 1);
    await one.query("SELECT pg_wal_replay_pause()");
    await waitUntil("they have moved", async () => {
      await primary.query("INSERT INTO written VALUES (now())");
      return (await ports()).every((port) => port === two.port);
    });
    assert.ok((await lagOf(one, "standby") ?? 0) > 3);
    const { stdout, code } = await runProgram(["-config", folder.configFile, "-doctor"]);
    // it looks at it for the first time
    assert.match(
      stdout,
      new RegExp(`127\\.0\\.0\\.1:${one.port}: standby, \\d+ s behind: it serves no callers`),
    );
    assert.equal(code, 0);
    assert.match(server.stderr(), /A database host serves none.*role=standby/);
  });

  await t.step("it has caught up, and the other dies: the next calls are answered", async () => {
    await one.query("SELECT pg_wal_replay_resume()");
    await waitUntil("it has caught up", async () => await lagOf(one, "standby") === 0);
    assert.deepEqual(await ports(), all(two.port));
    await two.kill();
    assert.deepEqual(await ports(), all(one.port));
    await waitUntil("it is told", async () => await lagOf(two, "unreachable") === Infinity);
  });

  await t.step("the primary dies, and the standby is promoted", async () => {
    await primary.kill();
    assert.deepEqual(await ports(), all(one.port));
    await one.query("SELECT pg_promote()");
    await waitUntil("it is the primary", async () => await lagOf(one, "primary") === 0);
    assert.deepEqual(await ports(), all(one.port));
    const { samples } = await scrape(server);
    assert.equal(samples.filter(({ name }) => name === "postern_database_host_lag_seconds").length, 3);
  });

  await t.step("none is left: the error names hosts and why", async () => {
    await one.stop();
    const { isError, text } = await clients[0]?.call("query_database", { query: "SELECT 1" }) ??
      assert.fail();
    assert.equal(isError, true);
    assert.match(
      text,
      new RegExp(
        `no host is a primary, or a standby within max_replica_lag \\(3 s\\): 127\\.0\\.0\\.1:${primary.port}: `,
      ),
    );
    await one.start();
    await waitUntil("it is back", async () => await lagOf(one, "primary") === 0);
    assert.deepEqual(await ports(), all(one.port));
  });
});
