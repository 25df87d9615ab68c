/**
 * Resolves on SIGTERM or SIGINT; a second signal ends the process as usual.
 * @param clientLeft over stdio: it ends the wait too, and so does SIGHUP, since nobody is left where the terminal is gone
 */
export async function untilStopped(clientLeft?: Promise<void>): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  using _hangUp = clientLeft && onHangUp(stop);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  await Promise.race([stopped.promise, clientLeft ?? stopped.promise]);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
}

/** Calls `told` on each SIGHUP, until it is disposed of; Windows has no such signal. */
export function onHangUp(told: () => void): Disposable | undefined {
  if (Deno.build.os === "windows") return undefined;
  Deno.addSignalListener("SIGHUP", told);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGHUP", told) };
}
