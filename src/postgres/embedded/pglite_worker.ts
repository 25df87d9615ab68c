/** The worker that PGlite runs in; `pglite_instance.ts` is its other side. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { findInterruptFlags, type InterruptFlags, shareWasmMemory } from "./shared_wasm_memory.ts";
import { encode, messagesIn, readInt32, startupCodes, type TransactionStatus } from "./wire_protocol.ts";

/** What the worker is started with, together with the port that everything else goes through. */
export interface WorkerStart {
  readonly dataDir: "memory" | string;
  /** A data directory as a tar file, gzip'd or not; initdb makes one where it is absent. */
  readonly snapshot: Uint8Array | undefined;
  /** Optional: none where PGlite finds its own. */
  readonly files: PgliteFiles | undefined;
  /** One int32 in shared memory: the bytes of output sent and not yet taken. */
  readonly outstanding: SharedArrayBuffer;
}

/** What PGlite loads: WebAssembly, and the files of a PostgreSQL's installation. */
export interface PgliteFiles {
  readonly postgres: Uint8Array<ArrayBuffer>;
  readonly initdb: Uint8Array<ArrayBuffer>;
  readonly installation: Uint8Array<ArrayBuffer>;
}

export type WorkerRequest =
  | { readonly kind: "execute"; readonly bytes: Uint8Array }
  | { readonly kind: "dump" }
  | { readonly kind: "close" };

/** Each request is answered by one `done` or `broken`; `execute` sends `data` before it. */
export type WorkerReply =
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  /**
   * `status` where the output ended with ReadyForQuery; `bytes` of a dump, and of the start (ParameterStatus messages);
   * `isNew` of the start where no database was there before, and its `interruptFlags`.
   */
  | {
    readonly kind: "done";
    readonly status?: TransactionStatus;
    readonly bytes?: Uint8Array;
    readonly isNew?: boolean;
    readonly interruptFlags?: InterruptFlags;
  }
  /** The instance can't be used any more. */
  | { readonly kind: "broken"; readonly reason: string };

const maxOutstandingBytes = 1024 * 1024;
/** PostgreSQL's smallest limit. V8's stack has room for it, so deep recursion is an ordinary error. */
const maxStackDepth = "100kB";
/** PostgreSQL's own default of 128 MB is filled at the start, whether it is needed or not. */
const sharedBuffers = "16MB";
/** It grows as needed. initdb copies the whole of it before each of its steps, and PGlite's own default is 128 MB. */
const initialMemoryBytes = 32 * 1024 * 1024;
/** The status of the exception by which PGlite's C code reports an ordinary SQL error (its `POSTGRES_MAIN_LONGJMP`). */
const sqlErrorStatus = 100;

shareWasmMemory();
addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port !== undefined) serve(port, event.data);
}, { once: true });

async function serve(port: MessagePort, start: WorkerStart): Promise<void> {
  const reply = (message: WorkerReply, transfer: Transferable[] = []) => port.postMessage(message, transfer);
  const broken = (error: unknown) => reply({ kind: "broken", reason: describe(error) });
  try {
    const { database, isNew } = await open(start);
    endAtFirstTrap(database);
    const answer = createRequestHandler(database, new Int32Array(start.outstanding), reply);
    port.onmessage = (event: MessageEvent<WorkerRequest>) => answer(event.data).catch(broken);
    const interruptFlags = findInterruptFlags(database.Module, database.Module.HEAPU8.buffer);
    reply({ kind: "done", bytes: await parameterStatuses(database), isNew, interruptFlags });
  } catch (error) {
    broken(error);
  }
}

async function open(
  { dataDir, snapshot, files }: WorkerStart,
): Promise<{ database: PGlite; isNew: boolean }> {
  const inMemory = dataDir === "memory";
  const isNew = inMemory || !existsSync(join(dataDir, "PG_VERSION"));
  const database = await PGlite.create({
    dataDir: inMemory ? "memory://" : `file://${dataDir}`,
    extensions: { vector },
    ...(files === undefined ? {} : {
      pgliteWasmModule: await WebAssembly.compile(files.postgres),
      initdbWasmModule: await WebAssembly.compile(files.initdb),
      fsBundle: new Blob([files.installation]),
    }),
    initialMemory: initialMemoryBytes,
    // initdb writes to memory in any case, so nothing is there to sync
    initDbStartParams: ["--no-sync", "-c", `shared_buffers=${sharedBuffers}`],
    startParams: [
      ...PGlite.defaultStartParams,
      ...["-c", `max_stack_depth=${maxStackDepth}`],
      ...["-c", `shared_buffers=${sharedBuffers}`],
    ],
    ...(isNew && snapshot !== undefined ? { loadDataDir: new Blob([new Uint8Array(snapshot)]) } : {}),
  });
  return { database, isNew };
}

/**
 * PGlite continues after any exception from its C code, although only SQL errors leave it in a defined state. After a
 * trap or an exit its memory is undefined, and a loop over the rest of the input may never end. After the first such
 * exception, every call therefore throws at the one place where PGlite does not catch.
 */
function endAtFirstTrap(database: PGlite): void {
  const module = database.Module;
  const mainLoopOnce = module._PostgresMainLoopOnce;
  module._PostgresMainLoopOnce = () => {
    try {
      mainLoopOnce();
    } catch (error) {
      if (!isSqlError(error)) {
        const rethrow = () => {
          throw error;
        };
        Object.assign(module, {
          _PostgresMainLoopOnce: rethrow,
          stackRestore: rethrow,
          _PostgresSendReadyForQueryIfNecessary: () => {},
          _pgl_pq_flush: () => {},
        });
      }
      throw error;
    }
  };
}

function isSqlError(error: unknown): boolean {
  return typeof error === "object" && error !== null && "status" in error && error.status === sqlErrorStatus;
}

function createRequestHandler(
  database: PGlite,
  outstanding: Int32Array,
  reply: (message: WorkerReply, transfer?: Transferable[]) => void,
): (request: WorkerRequest) => Promise<void> {
  function send(bytes: Uint8Array<ArrayBuffer>): void {
    let unread = Atomics.load(outstanding, 0);
    while (unread > maxOutstandingBytes) {
      Atomics.wait(outstanding, 0, unread);
      unread = Atomics.load(outstanding, 0);
    }
    Atomics.add(outstanding, 0, bytes.length);
    reply({ kind: "data", bytes }, [bytes.buffer]);
  }

  return async (request) => {
    switch (request.kind) {
      case "execute": {
        const framer = createMessageFramer(send);
        await database.execProtocolRawStream(request.bytes, { syncToFs: false, onRawData: framer.push });
        const status = readyStatus(framer.flush());
        return reply(status === undefined ? { kind: "done" } : { kind: "done", status });
      }
      case "dump": {
        const dump = await database.dumpDataDir("gzip");
        const bytes = new Uint8Array(await dump.arrayBuffer());
        return reply({ kind: "done", bytes }, [bytes.buffer]);
      }
      case "close":
        await database.close();
        return reply({ kind: "done" });
    }
  };
}

function readyStatus(lastMessage: Uint8Array): TransactionStatus | undefined {
  if (lastMessage[0] !== "Z".charCodeAt(0)) return undefined;
  const status = String.fromCharCode(lastMessage[5] ?? 0);
  return status === "I" || status === "T" || status === "E" ? status : undefined;
}

/** What this server reports to a client at the start. Asking for it also makes the server report later changes. */
async function parameterStatuses(database: PGlite): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const packet = encode("user", "postgres", new Uint8Array(1));
  await database.execProtocolRawStream(encode(packet.length + 8, startupCodes.protocol3 << 16, packet), {
    syncToFs: false,
    onRawData: (bytes) => chunks.push(bytes.slice()),
  });
  return encode(
    ...messagesIn(encode(...chunks)).filter(({ type }) => type === "S").map(({ bytes }) => bytes),
  );
}

function describe(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === "object" && error !== null && "message" in error
    ? String(error.message)
    : String(error);
}

const chunkBytes = 64 * 1024;

/**
 * Cuts a backend's output into chunks of whole messages, so that a reader can always be told of an error next. They have
 * about 64 KiB, or one message where that is longer; `emit` owns what it is given.
 */
function createMessageFramer(emit: (chunk: Uint8Array<ArrayBuffer>) => void) {
  let buffer = new Uint8Array(2 * chunkBytes);
  let filled = 0;
  let whole = 0;
  let last = new Uint8Array(0);

  function append(bytes: Uint8Array): void {
    if (filled + bytes.length > buffer.length) {
      const larger = new Uint8Array(Math.max(2 * buffer.length, filled + bytes.length));
      larger.set(buffer.subarray(0, filled));
      buffer = larger;
    }
    buffer.set(bytes, filled);
    filled += bytes.length;
  }

  function advance(): void {
    while (whole + 5 <= filled) {
      const end = whole + 1 + readInt32(buffer, whole + 1);
      if (end > filled) return;
      last = buffer.subarray(whole, end);
      whole = end;
    }
  }

  function emitWhole(): void {
    if (whole === 0) return;
    last = last.slice();
    emit(buffer.slice(0, whole));
    buffer.copyWithin(0, whole, filled);
    filled -= whole;
    whole = 0;
  }

  return {
    /** Copies the bytes: they may be a view that changes. */
    push(bytes: Uint8Array): void {
      append(bytes);
      advance();
      if (whole >= chunkBytes) emitWhole();
    },
    /** Emits what is left; returns the last whole message. */
    flush(): Uint8Array {
      emitWhole();
      return last;
    },
  };
}
