import { createServer } from "node:net";
import { join } from "node:path";
import { runSql } from "./database.ts";
import type { Certificate } from "./network/certificates.ts";
import { waitUntil } from "./wait_until.ts";

/** Where the server's programs are, unless TEST_POSTGRES_BIN names another folder. */
const debianBinaries = "/usr/lib/postgresql/15/bin";

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
  /** As a crash does: without a word to anybody. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server, and starts it again as a standby that follows nobody. */
  becomeStandby(): Promise<void>;
}

/** Why no cluster can be made here; undefined where one can. */
export function clusterObstacle(program = "initdb"): string | undefined {
  try {
    Deno.statSync(join(binaries(), program));
    return undefined;
  } catch {
    return `needs ${program === "initdb" ? binaries() : program}`;
  }
}

/** Registers a test that makes a cluster; it is ignored, and its name says why, where none can be made. */
export function testWithCluster(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  testWithProgram("initdb", name, fn);
}

/** The same of a test that makes standbys. */
export function testWithStandbys(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  testWithProgram("pg_basebackup", name, fn);
}

function testWithProgram(
  program: string,
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
): void {
  const obstacle = clusterObstacle(program);
  Deno.test({
    name: obstacle === undefined ? name : `${name} (${obstacle})`,
    ignore: obstacle !== undefined,
    fn,
  });
}

/**
 * Makes and starts a cluster in a temporary folder; both are gone when it is disposed of, or its process ends. With
 * `standbyOf` it is a copy of that one, and streams from it.
 */
export async function startCluster(
  options: { initdb?: readonly string[]; settings?: readonly string[]; standbyOf?: PostgresCluster } = {},
): Promise<PostgresCluster> {
  const user = await serverUser();
  const folder = await Deno.makeTempDir({ prefix: "postern_cluster_" });
  const giveTo = async (path: string) => {
    if (user !== undefined) await Deno.chown(path, user.uid, user.gid);
  };
  await giveTo(folder);
  const data = join(folder, "data");
  const port = await freePort();
  const runBinary = (name: string, args: readonly string[]) => run(join(binaries(), name), args, user);
  const removal = removeAtEnd(folder, data);
  const { standbyOf } = options;
  if (standbyOf !== undefined) {
    const from = ["-h", standbyOf.socketFolder, "-p", String(standbyOf.port), "-U", "postgres"];
    await runBinary("pg_basebackup", [...from, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
  } else {
    await runBinary("initdb", [
      ...["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
      ...options.initdb ?? [],
    ]);
  }
  await Deno.writeTextFile(
    join(data, "postgresql.conf"),
    [
      // the copy of a standby ends without a line's end
      "",
      `port = ${port}`,
      `listen_addresses = '127.0.0.1'`,
      `unix_socket_directories = '${folder}'`,
      "fsync = off",
      "max_connections = 30",
      "shared_buffers = 16MB",
      ...options.settings ?? [],
    ].join("\n"),
    { append: true },
  );
  const start = () => runBinary("pg_ctl", ["-D", data, "-w", "-l", join(folder, "log"), "start"]);
  const stop = () => runBinary("pg_ctl", ["-D", data, "-w", "-m", "fast", "stop"]);
  const query = (sql: string) =>
    runSql(`postgres://postgres@/postgres?host=${encodeURIComponent(folder)}&port=${port}`, sql);
  const giveToServer = async (path: string) => {
    await giveTo(path);
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
      await runBinary("pg_ctl", ["-D", data, "reload"]);
      await query("SELECT 1");
    },
    async setParameter(name, value) {
      await query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await runBinary("pg_ctl", ["-D", data, "reload"]);
    },
    stop,
    kill: () => runBinary("pg_ctl", ["-D", data, "-w", "-m", "immediate", "stop"]),
    start,
    async becomeStandby() {
      await stop();
      await Deno.writeTextFile(join(data, "standby.signal"), "");
      await start();
    },
    [Symbol.asyncDispose]: removal,
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

function binaries(): string {
  return Deno.env.get("TEST_POSTGRES_BIN") ?? debianBinaries;
}

/** Whom the server runs as where the tests run as root, which it refuses. */
async function serverUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (Deno.uid() !== 0) return undefined;
  const ids = await Promise.all(["-u", "-g"].map(async (flag) => {
    const { stdout } = await new Deno.Command("id", { args: [flag, "nobody"], stderr: "null" }).output();
    return Number(new TextDecoder().decode(stdout));
  }));
  const [uid = 0, gid = 0] = ids;
  return { uid, gid };
}

/**
 * A process that ends the server at once and removes its folder when the function is called, or this process has ended in
 * whatever way: its input ends then.
 */
function removeAtEnd(folder: string, data: string): () => Promise<void> {
  const script = `trap "" INT TERM HUP; cat >/dev/null
    if pid=$(head -n 1 "$2/postmaster.pid" 2>/dev/null); then
      kill -QUIT "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    fi
    rm -rf "$1"`;
  const args = ["-c", script, "sh", folder, data];
  const process = new Deno.Command("sh", { args, stdin: "piped", stdout: "null", stderr: "null" }).spawn();
  return async () => {
    await process.stdin.close();
    await process.status;
  };
}

async function run(
  command: string,
  args: readonly string[],
  user: { uid: number; gid: number } | undefined,
): Promise<void> {
  // pg_ctl's server inherits its output, which would then never end
  const stdio = { stdin: "null", stdout: "null", stderr: "null", cwd: "/" } as const;
  const { success } = await new Deno.Command(command, { args: [...args], ...stdio, ...user }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")} failed`);
}

/** Has the server speak TLS with a certificate. `name` is that of its files, and unique. */
export async function serveCertificate(
  cluster: PostgresCluster,
  certificate: Certificate,
  name: string,
): Promise<void> {
  const certFile = join(cluster.folder, `${name}.crt`);
  const keyFile = join(cluster.folder, `${name}.key`);
  await Deno.copyFile(certificate.certFile, certFile);
  await Deno.copyFile(certificate.keyFile, keyFile);
  for (const file of [certFile, keyFile]) await cluster.giveToServer(file);
  await cluster.query(`ALTER SYSTEM SET ssl_cert_file = '${certFile}'`);
  await cluster.query(`ALTER SYSTEM SET ssl_key_file = '${keyFile}'`);
  await cluster.setParameter("ssl", "on");
  await waitUntil("the certificate is served", async () => {
    const [row] = await cluster.query("SELECT current_setting('ssl'), current_setting('ssl_cert_file')");
    return row?.[0] === "on" && row[1] === certFile;
  });
}
