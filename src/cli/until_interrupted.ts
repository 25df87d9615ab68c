import { AppError } from "../core/app_error.ts";

/** Runs an operation whose signal aborts on SIGINT or SIGTERM, so that it ends in order. */
export async function untilInterrupted<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = () => controller.abort(new AppError("unavailable", "Cannot finish: interrupted"));
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  try {
    return await operation(controller.signal);
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  }
}
