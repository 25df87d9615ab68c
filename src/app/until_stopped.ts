/**
 * Resolves on SIGTERM or SIGINT, or when `ended` does; a second signal ends the process as usual.
 *
 * @param options.hangUp whether SIGHUP is told like those: over stdio nobody is left where the terminal is gone
 */
export async function untilStopped(options: { ended?: Promise<void>; hangUp?: boolean } = {}): Promise<void> {
  const { ended, hangUp = false } = options;
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  using _hangUp = hangUp ? onHangUp(stop) : undefined;
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  await Promise.race([stopped.promise, ended ?? stopped.promise]);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
}

/** Calls `told` on each SIGHUP, until it is disposed of; Windows has no such signal. */
export function onHangUp(told: () => void): Disposable | undefined {
  if (Deno.build.os === "windows") return undefined;
  Deno.addSignalListener("SIGHUP", told);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGHUP", told) };
}
