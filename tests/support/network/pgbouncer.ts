import { join } from "node:path";
import { waitUntil } from "../wait_until.ts";
import { findProgram } from "../programs.ts";

/** PgBouncer in transaction mode, two connections to each database, on a Unix socket. */
export interface PgBouncer extends AsyncDisposable {
  /** Where it listens, as a host of a configuration. */
  readonly host: { readonly host: string; readonly port: number };
}

/** It does not run as root; 65534 is nobody. */
const nobody = Deno.uid() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
const port = 6_432;

/** Starts it before the server that a URL names, and resolves once it listens. */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, password } = new URL(serverUrl);
  const folder = await Deno.makeTempDir({ prefix: "postern_pgbouncer_" });
  if (nobody !== undefined) await Deno.chown(folder, nobody.uid, nobody.gid);
  const [users, file] = [join(folder, "users"), join(folder, "pgbouncer.ini")];
  await Deno.writeTextFile(users, `"${username}" "${password}"\n`);
  await Deno.writeTextFile(
    file,
    [
      "[databases]",
      `* = host=${hostname} port=${serverPort || "5432"}`,
      "[pgbouncer]",
      `unix_socket_dir = ${folder}`,
      `listen_port = ${port}`,
      "auth_type = trust",
      `auth_file = ${users}`,
      "pool_mode = transaction",
      "default_pool_size = 2",
      "",
    ].join("\n"),
  );
  const child = new Deno.Command(findProgram("pgbouncer") ?? "pgbouncer", {
    args: ["-q", file],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...nobody,
  }).spawn();
  const socket = join(folder, `.s.PGSQL.${port}`);
  await waitUntil("PgBouncer listens", () => Deno.stat(socket).then(() => true, () => false));
  return {
    host: { host: folder, port },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
