import { createServer } from "node:net";
import { join } from "node:path";
import { runSql } from "./database.ts";

const binaries = "/usr/lib/postgresql/15/bin";

/** A PostgreSQL server of a test's own, with settings that the shared one does not have. */
export interface PostgresCluster extends AsyncDisposable {
  readonly port: number;
  /** The folder of its Unix socket. */
  readonly socketFolder: string;
  /** For files that the server reads; they belong to the server's user. */
  readonly folder: string;
  /** Runs SQL as superuser, over the Unix socket. */
  query(sql: string): Promise<unknown[][]>;
  /** Makes a file readable by the server alone. */
  giveToServer(path: string): Promise<void>;
  /** Replaces the client authentication rules; the superuser keeps the Unix socket. */
  setHostRules(rules: readonly string[]): Promise<void>;
  /** Sets a parameter to a literal and reloads. */
  setParameter(name: string, value: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server, and starts it again as a standby that follows nobody. */
  becomeStandby(): Promise<void>;
}

/** Why no cluster can be made here; undefined where one can. */
export function clusterObstacle(): string | undefined {
  try {
    Deno.statSync(join(binaries, "initdb"));
  } catch {
    return `needs ${binaries}`;
  }
  return Deno.uid() === 0 ? undefined : "needs root, to run PostgreSQL as the user postgres";
}

/** Registers a test that makes a cluster; it is ignored, and its name says why, where none can be made. */
export function testWithCluster(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  const obstacle = clusterObstacle();
  Deno.test({
    name: obstacle === undefined ? name : `${name} (${obstacle})`,
    ignore: obstacle !== undefined,
    fn,
  });
}

/** Makes and starts a cluster in a temporary folder, removed when disposed of. */
export async function startCluster(): Promise<PostgresCluster> {
  const folder = await Deno.makeTempDir({ prefix: "postern_cluster_" });
  await run("chown", ["postgres", folder]);
  const data = join(folder, "data");
  const port = await freePort();
  await asPostgres("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]);
  await Deno.writeTextFile(
    join(data, "postgresql.conf"),
    [
      `port = ${port}`,
      `listen_addresses = '127.0.0.1'`,
      `unix_socket_directories = '${folder}'`,
      "fsync = off",
      "max_connections = 30",
      "shared_buffers = 16MB",
    ].join("\n"),
    { append: true },
  );
  const start = () => asPostgres("pg_ctl", ["-D", data, "-w", "-l", join(folder, "log"), "start"]);
  const stop = () => asPostgres("pg_ctl", ["-D", data, "-w", "-m", "fast", "stop"]);
  const query = (sql: string) =>
    runSql(`postgres://postgres@/postgres?host=${encodeURIComponent(folder)}&port=${port}`, sql);
  const giveToServer = async (path: string) => {
    await run("chown", ["postgres", path]);
    await Deno.chmod(path, 0o600);
  };
  await start();
  return {
    port,
    socketFolder: folder,
    folder,
    query,
    giveToServer,
    async setHostRules(rules) {
      const file = join(data, "pg_hba.conf");
      await Deno.writeTextFile(file, ["local all postgres trust", ...rules, ""].join("\n"));
      await asPostgres("pg_ctl", ["-D", data, "reload"]);
      await query("SELECT 1");
    },
    async setParameter(name, value) {
      await query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await asPostgres("pg_ctl", ["-D", data, "reload"]);
    },
    stop,
    start,
    async becomeStandby() {
      await stop();
      await Deno.writeTextFile(join(data, "standby.signal"), "");
      await start();
    },
    async [Symbol.asyncDispose]() {
      await asPostgres("pg_ctl", ["-D", data, "-m", "immediate", "stop"]).catch(() => {});
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

async function asPostgres(binary: string, args: readonly string[]): Promise<void> {
  await run("runuser", ["-u", "postgres", "--", join(binaries, binary), ...args]);
}

async function run(command: string, args: readonly string[]): Promise<void> {
  // pg_ctl's server inherits its output, which would then never end
  const stdio = { stdin: "null", stdout: "null", stderr: "null", cwd: "/" } as const;
  const { success } = await new Deno.Command(command, { args: [...args], ...stdio }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")} failed`);
}
