import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import process from "node:process";
import { format } from "node:util";

/** How the program runs: what Deno lets it do, and what V8 is told. `deno.json`'s task `demo` has the same. */

/**
 * The network stays open. `run` is for the parent of several processes: all others give it up at once
 * (`giveUpPermissions`), since only a fixed path could be named here. `ffi` is for the threads of models, each of which
 * gets it for the folder of ONNX Runtime's library; the process itself gives it up as soon as they have begun.
 */
export const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run",
  "--allow-ffi",
];

/** What V8 is told. */
export const v8Flags = [
  // translated well, PGlite's WebAssembly takes 1.7 GB
  "--no-wasm-tier-up",
  "--no-wasm-dynamic-tiering",
  // what calls leave behind is collected sooner (docs/performance.md)
  "--max-semi-space-size=16",
  "--heap-growing-percent=50",
  // V8 takes what every request makes for long-lived, and then keeps each whole request with it until it marks the old
  // generation: a fifth more CPU, and twice the p99
  "--no-allocation-site-pretenuring",
].join(",");

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

/**
 * Has the log take what the runtime and libraries would write to standard error or output by themselves: warnings of the
 * process, and what goes to the console. Lines of another form would not be those of the log, and over stdio those of no
 * message. Nobody who runs the server can do anything about a deprecation: those are for level `debug`.
 */
export function logRuntimeWarnings(logger: Logger): void {
  // the runtime's own listener writes them
  process.removeAllListeners("warning");
  process.on("warning", (warning: Error & { readonly code?: string }) => {
    const { name, code, message } = warning;
    logger[name.endsWith("DeprecationWarning") ? "debug" : "warn"]("The runtime warns", {
      warning: name,
      code,
      text: message,
    });
  });
  const tell = (level: "debug" | "info" | "warn") => (...values: readonly unknown[]) =>
    logger[level]("A library says", { text: format(...values) });
  Object.assign(console, {
    debug: tell("debug"),
    log: tell("info"),
    info: tell("info"),
    warn: tell("warn"),
    error: tell("warn"),
  });
}
