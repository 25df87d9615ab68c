import { join } from "node:path";
import type { Logger } from "../../core/logger.ts";

/**
 * Resolves on SIGTERM or SIGINT; a second signal ends the process as usual.
 * @param toldElse it ends the wait too: the client over stdio, or the parent of several processes
 */
export async function untilStopped(toldElse?: Promise<void>): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  await Promise.race([stopped.promise, toldElse ?? stopped.promise]);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
}

/** Calls `told` on each SIGHUP, until it is disposed of; Windows has no such signal. */
export function onHangUp(told: () => void): Disposable | undefined {
  if (Deno.build.os === "windows") return undefined;
  Deno.addSignalListener("SIGHUP", told);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGHUP", told) };
}

/**
 * Tells systemd that the servers answer, for units of `Type=notify`: a datagram to the socket that it names in
 * NOTIFY_SOCKET (sd_notify(3), "Notes"). A manager that cannot be told is worth a line in the log, and no more.
 *
 * @param socket a path; undefined where nobody waits to be told
 */
export async function tellServiceManager(socket: string | undefined, logger: Logger): Promise<void> {
  if (socket === undefined) return;
  try {
    // the runtime sends datagrams only from a socket that has a path itself
    const folder = await Deno.makeTempDir({ prefix: "postern_" });
    await using closing = new AsyncDisposableStack();
    closing.defer(() => Deno.remove(folder, { recursive: true }));
    const own = Deno.listenDatagram({ transport: "unixpacket", path: join(folder, "notify") });
    closing.defer(() => own.close());
    await own.send(new TextEncoder().encode("READY=1"), { transport: "unixpacket", path: socket });
  } catch (error) {
    logger.warn("Cannot tell the service manager that the server is ready", { error });
  }
}
