import { setUpSql } from "../../src/state/postgres_engine.ts";
import { type SeverableProxy, startSeverableProxy } from "../support/network/severable_proxy.ts";
import { type PostgresCluster, startCluster } from "../support/postgres_cluster.ts";
import { waitUntil } from "../support/wait_until.ts";
import type { Fault } from "./faults.ts";
import { processes, type SpreadDatabase, type StatePlace } from "./fleet.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The state on a PostgreSQL of its own, which can be stopped. */
export async function startOwnState(): Promise<
  AsyncDisposable & { readonly place: StatePlace; readonly faults: readonly Fault[] }
> {
  const cluster = await startCluster();
  const user = "postern_state";
  await cluster.query(setUpSql(user));
  const away = (name: string, stop: () => Promise<void>): Fault => ({
    name,
    async run({ fleet, ledger }) {
      const trouble = ledger.begin(name, ["refuses", "isolates"], processes * fleet.replicas.length);
      await stop();
      await sleep(2_000);
      await cluster.start();
      // each process connects again within a second
      await sleep(2_000);
      trouble.end();
    },
  });
  return {
    place: { host: "127.0.0.1", port: cluster.port, database: "postgres", user, password: "" },
    faults: [
      away("the state's PostgreSQL is restarted", cluster.stop),
      away("the state's PostgreSQL crashes", cluster.kill),
    ],
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** One of two hosts of a database: whichever cluster stands behind it now. */
interface Host {
  cluster: PostgresCluster;
  readonly target: { readonly host: string; port: number };
  readonly proxy: SeverableProxy;
}

/** A primary and a standby, which take each other's places. */
export async function startSpreadDatabase(): Promise<
  AsyncDisposable & { readonly database: SpreadDatabase; readonly failOver: Fault }
> {
  const name = "spread";
  const first = await startCluster();
  await first.query(`CREATE TABLE place (name text); INSERT INTO place VALUES ('${name}')`);
  const behind = async (cluster: PostgresCluster): Promise<Host> => {
    const target = { host: "127.0.0.1", port: cluster.port };
    return { cluster, target, proxy: await startSeverableProxy(target) };
  };
  let primary = await behind(first);
  let standby = await behind(await startCluster({ standbyOf: first }));
  const hosts = [primary, standby].map(({ proxy }) => `{ host: 127.0.0.1, port: ${proxy.port} }`);
  const failOver: Fault = {
    name: "a database fails over to its standby",
    async run({ ledger }) {
      const trouble = ledger.begin(this.name, ["fails statements"]);
      await primary.cluster.kill();
      await sleep(1_000);
      await standby.cluster.query("SELECT pg_promote()");
      [primary, standby] = [standby, primary];
      await waitUntil("it is the primary", async () => {
        const [row] = await primary.cluster.query("SELECT pg_is_in_recovery()");
        return row?.[0] === "f";
      });
      await standby.cluster[Symbol.asyncDispose]();
      standby.cluster = await startCluster({ standbyOf: primary.cluster });
      standby.target.port = standby.cluster.port;
      // hosts are looked at every second
      await sleep(2_000);
      trouble.end();
    },
  };
  return {
    database: {
      name,
      entry: `{ name: ${name}, hosts: [${hosts.join(", ")}], target_session_attrs: prefer-standby, ` +
        "database: postgres, user: postgres, sslmode: disable, pool_max_conn_idle_time: 5s }",
    },
    failOver,
    async [Symbol.asyncDispose]() {
      for (const { proxy, cluster } of [primary, standby]) {
        await proxy[Symbol.asyncDispose]();
        await cluster[Symbol.asyncDispose]();
      }
    },
  };
}
