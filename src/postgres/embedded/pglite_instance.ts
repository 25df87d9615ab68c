import { onAbort } from "../../core/async/abort.ts";
import { startTimer } from "../../core/async/deadline.ts";
import { openPackedFiles, type PackedFiles } from "../../core/files/packed_files.ts";
import type { PgliteFiles, WorkerReply, WorkerRequest, WorkerStart } from "./pglite_worker.ts";
import { clearCancel, type InterruptFlags, requestCancel } from "./shared_wasm_memory.ts";
import {
  type BackendError,
  cancelledByTimeout,
  encode,
  errorIn,
  errorResponse,
  messagesIn,
  queryMessage,
  shuttingDown,
  stoppedBy,
  type TransactionStatus,
} from "./wire_protocol.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";

export interface ExecuteOptions {
  /** Gets whole messages; the next chunk waits for the promise. */
  readonly send: (bytes: Uint8Array) => Promise<void>;
  /** Stops the statement; its reason must be a BackendError, which the client is told of. */
  readonly signal: AbortSignal;
  /** 0: none. */
  readonly timeoutMs: number;
}

/** One PGlite in its worker; one call at a time. After a rejection nothing but `terminate` may be called. */
export type PgliteInstance = Awaited<ReturnType<typeof startPgliteInstance>>;

/** How long a statement may take to react to a request to stop; after that the whole instance is terminated. */
const interruptGraceMs = 5000;

const discard: ExecuteOptions["send"] = () => Promise.resolve();

type Done = Extract<WorkerReply, { kind: "done" }>;

export interface StartOptions extends Omit<WorkerStart, "outstanding" | "files"> {
  /** The executable's, with PGlite's in them. */
  readonly packed?: PackedFiles;
  /** Makes the SQL that the superuser runs where the database is new; called at once, while the worker starts. */
  readonly prepare: () => readonly string[] | Promise<readonly string[]>;
}

/** @throws BackendError */
export async function startPgliteInstance(options: StartOptions) {
  const { prepare, packed, ...start } = options;
  const files = packed && await readPgliteFiles(packed);
  const worker = new Worker(import.meta.resolve("./pglite_worker.ts"), { type: "module" });
  const { port1: port, port2 } = new MessageChannel();
  const outstanding = new Int32Array(new SharedArrayBuffer(4));
  let call: { send: ExecuteOptions["send"]; settle: PromiseWithResolvers<Done> };
  let sending = Promise.resolve();
  let interruptFlags: InterruptFlags | undefined;

  function begin(send: ExecuteOptions["send"] = discard): Promise<Done> {
    const settle = Promise.withResolvers<Done>();
    call = { send, settle };
    return settle.promise;
  }

  async function forward(bytes: Uint8Array): Promise<void> {
    await call.send(bytes);
    Atomics.sub(outstanding, 0, bytes.length);
    Atomics.notify(outstanding, 0);
  }

  function ask(request: WorkerRequest, send?: ExecuteOptions["send"]): Promise<Done> {
    const done = begin(send);
    port.postMessage(request);
    return done;
  }

  function fail(reason: string): void {
    call.settle.reject(stoppedBy(reason));
  }

  function terminate(): void {
    worker.terminate();
    port.close();
    call.settle.reject(shuttingDown());
  }

  port.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
    if (data.kind === "data") sending = sending.then(() => forward(data.bytes));
    else if (data.kind === "broken") fail(data.reason);
    else sending.then(() => call.settle.resolve(data));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message);
  };

  const started = begin();
  const transferred = Object.values(files ?? {}).map(({ buffer }) => buffer);
  worker.postMessage({ ...start, files, outstanding: outstanding.buffer }, [port2, ...transferred]);
  const instance = {
    terminate,
    /** Runs whole messages. Optional: the status, which output without ReadyForQuery at its end does not have. @throws BackendError */
    async execute(
      messages: Uint8Array,
      { send, signal, timeoutMs }: ExecuteOptions,
    ): Promise<TransactionStatus | undefined> {
      signal.throwIfAborted();
      if (interruptFlags !== undefined) clearCancel(interruptFlags);
      let stopReason: BackendError | undefined;
      const done = ask({ kind: "execute", bytes: messages }, (bytes) => send(withCause(bytes, stopReason)));
      const { reject } = call.settle;
      let deadline: ReturnType<typeof setTimeout> | undefined;
      const stop = (error: BackendError) => {
        stopReason ??= error;
        if (interruptFlags !== undefined) requestCancel(interruptFlags);
        deadline ??= setTimeout(() => reject(error), interruptGraceMs);
      };
      const stopTimer = startTimer(timeoutMs, () => stop(cancelledByTimeout()));
      using _aborting = onAbort(signal, () => stop(signal.reason));
      try {
        return (await done).status;
      } finally {
        stopTimer();
        clearTimeout(deadline);
        call.send = discard;
      }
    },
    /** The data directory as a gzip'd tar file. */
    async dump(): Promise<Uint8Array> {
      return (await ask({ kind: "dump" })).bytes ?? new Uint8Array(0);
    },
    /** Shuts the database down in order. */
    async close(): Promise<void> {
      await ask({ kind: "close" });
      terminate();
    },
  };
  try {
    const [first, statements] = await Promise.all([started, Promise.try(prepare)]);
    interruptFlags = first.interruptFlags;
    const unlimited = { signal: new AbortController().signal, timeoutMs: 0 };
    for (const sql of first.isNew === true ? statements : []) {
      await executeAll(instance, queryMessage(sql), unlimited);
    }
    return {
      ...instance,
      /** ParameterStatus messages as a client gets them when it connects. */
      parameters: first.bytes ?? new Uint8Array(0),
    };
  } catch (error) {
    terminate();
    throw error;
  }
}

async function readPgliteFiles(packed: PackedFiles): Promise<PgliteFiles> {
  return {
    postgres: await packed.read("pglite.wasm"),
    initdb: await packed.read("initdb.wasm"),
    installation: await packed.read("pglite.data"),
  };
}

/** PostgreSQL reports every cancellation as a user's request. This puts the true cause in its place. */
function withCause(bytes: Uint8Array, cause: BackendError | undefined): Uint8Array {
  if (cause === undefined || errorIn(bytes)?.sqlState !== "57014") return bytes;
  const stated = errorResponse("ERROR", cause.sqlState, cause.message);
  return encode(...messagesIn(bytes).map((message) => message.type === "E" ? stated : message.bytes));
}

/** Runs messages and drops their rows. @throws BackendError their first error too */
export async function executeAll(
  target: { execute(messages: Uint8Array, options: ExecuteOptions): Promise<unknown> },
  messages: Uint8Array,
  options: Omit<ExecuteOptions, "send">,
): Promise<void> {
  let error: BackendError | undefined;
  const send = (bytes: Uint8Array) => {
    error ??= errorIn(bytes);
    return Promise.resolve();
  };
  await target.execute(messages, { ...options, send });
  if (error !== undefined) throw error;
}

/**
 * A database cluster for `createEmbeddedServer`, a gzip'd tar file of 5 to 6 MB: what initdb makes in two seconds, and
 * what the superuser's SQL in `prepare` put into it.
 */
export async function createSnapshot(prepare: readonly string[] = []): Promise<Uint8Array> {
  const instance = await startPgliteInstance({
    dataDir: "memory",
    snapshot: undefined,
    // the next start then has nothing to recover from the log
    prepare: () => [...prepare, "CHECKPOINT"],
  });
  try {
    return await instance.dump();
  } finally {
    instance.terminate();
  }
}

/** The one backend session that all clients share. It restarts whenever a statement cannot be stopped otherwise. */
export type PgliteBackend = Awaited<ReturnType<typeof createPgliteBackend>>;

/** @throws AppError `unavailable` where the database doesn't start */
export async function createPgliteBackend(options: Omit<StartOptions, "packed">, logger: Logger) {
  // open to the end, since a later start must find them as they are now
  const packed = await openPackedFiles();
  const start = packed === undefined ? options : { ...options, packed };
  const first = await startPgliteInstance(start).catch((error: Error) => {
    packed?.[Symbol.dispose]();
    const reason = `Cannot start the embedded database: ${error.message}`;
    throw new AppError("unavailable", reason, { cause: error });
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
