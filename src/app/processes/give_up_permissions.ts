import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";

const names = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;

/**
 * Gives up for the rest of the process what its configuration has no use for: to start programs, which only the parent
 * of several processes and `password_command` do, to load libraries, and
 * over stdio, where the configuration is never read again, to write files. The runtime holds to what it gave up as a whole;
 * of what it keeps it gives up no part, such as a folder.
 */
export async function giveUpPermissions(
  config: Config,
  { isStdio, isParent, logger }: {
    readonly isStdio: boolean;
    /** Whether it starts other processes of this program, and serves nothing itself. */
    readonly isParent: boolean;
    readonly logger: Logger;
  },
): Promise<void> {
  const unused = [
    "ffi",
    ...(isParent || startsPrograms(config) ? [] : ["run" as const]),
    ...(isStdio && !writesFiles(config) ? ["write" as const] : []),
  ] as const;
  for (const name of unused) await Deno.permissions.revoke({ name });
  const states = await Promise.all(
    names.map(async (name) => ({ name, state: (await Deno.permissions.query({ name })).state })),
  );
  const list = (isGranted: boolean) =>
    states.filter(({ state }) => (state === "granted") === isGranted).map(({ name }) => name).join(" ");
  logger.debug("what the runtime lets this process do", { allowed: list(true), refused: list(false) });
}

/** Whether a database's password is what a program prints. */
export function startsPrograms({ databases, pipelines, state }: Config): boolean {
  const all = [...databases, ...pipelines.map(({ database }) => database), state.database];
  return all.some((database) => database?.password_command !== undefined);
}

/** Whether a server over stdio does. To connect to a socket in the file system counts as writing to it. */
function writesFiles({ audit, data_dir, databases, notify_socket }: Config): boolean {
  return audit.file !== undefined || data_dir !== undefined || notify_socket !== undefined ||
    databases.some(({ embedded, hosts }) =>
      (embedded !== undefined && embedded !== "memory") || hosts.some(({ host }) => host.startsWith("/"))
    );
}
