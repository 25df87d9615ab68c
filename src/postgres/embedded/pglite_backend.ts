import { AppError } from "../../core/app_error.ts";
import { openPackedFiles } from "../../core/files/packed_files.ts";
import type { Logger } from "../../core/logger.ts";
import {
  type ExecuteOptions,
  type PgliteInstance,
  type StartOptions,
  startPgliteInstance,
} from "./pglite_instance.ts";
import { shuttingDown, type TransactionStatus } from "./wire_protocol.ts";

/** The one backend session that all clients share. It restarts whenever a statement cannot be stopped otherwise. */
export type PgliteBackend = Awaited<ReturnType<typeof createPgliteBackend>>;

/** @throws AppError `unavailable` where the database doesn't start */
export async function createPgliteBackend(options: Omit<StartOptions, "packed">, logger: Logger) {
  // open to the end, since a later start must find them as they are now
  const packed = await openPackedFiles();
  const start = packed === undefined ? options : { ...options, packed };
  const first = await startPgliteInstance(start).catch((error: Error) => {
    packed?.[Symbol.dispose]();
    throw new AppError("unavailable", `Cannot start the embedded database: ${error.message}`, {
      cause: error,
    });
  });
  let current: Promise<PgliteInstance> | undefined = Promise.resolve(first);
  let executing: Promise<unknown> = Promise.resolve();
  const closing = new AbortController();
  let closed = false;

  function instance(): Promise<PgliteInstance> {
    if (closed) return Promise.reject(shuttingDown());
    if (current !== undefined) return current;
    const starting = startPgliteInstance(start);
    current = starting;
    starting.catch((error: Error) => {
      logger.error("cannot restart the embedded database", { reason: error.message });
      if (current === starting) current = undefined;
    });
    return starting;
  }

  function restart(stopped: PgliteInstance, reason: string): void {
    stopped.terminate();
    current = undefined;
    backend.occupant = undefined;
    if (closed) return;
    logger.warn("restarting the embedded database", { reason });
    instance();
  }

  const backend = {
    parameters: first.parameters,
    /** Whose settings the backend session has; undefined after a start, or once its user clears it. */
    occupant: undefined as object | undefined,
    /** As `PgliteInstance.execute`; after a rejection the next call runs on a new instance. @throws BackendError */
    async execute(messages: Uint8Array, options: ExecuteOptions): Promise<TransactionStatus | undefined> {
      const running = await instance();
      const signal = AbortSignal.any([options.signal, closing.signal]);
      const result = running.execute(messages, { ...options, signal });
      executing = result.catch(() => {});
      return await result.catch((error: Error) => {
        restart(running, error.message);
        throw error;
      });
    },
    /** Stops the running statement, then shuts the database down cleanly. */
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      closing.abort(shuttingDown());
      await executing;
      const last = await current?.catch(() => undefined);
      await last?.close().catch(() => last.terminate());
      packed?.[Symbol.dispose]();
    },
  };
  return backend;
}
