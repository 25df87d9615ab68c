/** Resolves on SIGTERM or SIGINT, or when `ended` does; a second signal ends the process as usual. */
export async function untilStopped(ended?: Promise<void>): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);
  await Promise.race([stopped.promise, ended ?? stopped.promise]);
  for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.removeSignalListener(signal, stop);
}
