import { Buffer } from "node:buffer";

/**
 * Makes every WebAssembly memory of this thread shared, and every module that imports one ask for that, of any
 * size. PGlite has no setting for it, and without it no other thread can tell a running statement to stop: PostgreSQL
 * looks at a variable in its memory, and the thread that runs it does nothing else until it is done.
 */
export function shareWasmMemory(): void {
  const { Memory, Module, compile, instantiate } = WebAssembly;
  Object.assign(WebAssembly, {
    Memory: new Proxy(Memory, {
      construct: (target, [descriptor]) => new target({ ...descriptor, shared: true }),
    }),
    Module: new Proxy(Module, {
      construct: (target, [bytes]) => new target(withSharedMemoryImport(bytesOf(bytes))),
    }),
    compile: (bytes: BufferSource) => compile(withSharedMemoryImport(bytesOf(bytes))),
    instantiate: (source: BufferSource | WebAssembly.Module, imports?: WebAssembly.Imports) =>
      source instanceof Module
        ? instantiate(source, imports)
        : instantiate(withSharedMemoryImport(bytesOf(source)), imports),
  });
  fillSharedRandomly();
}

/** The Web Crypto API refuses shared memory. */
function fillSharedRandomly(): void {
  const getRandomValues = crypto.getRandomValues.bind(crypto);
  Object.assign(crypto, {
    getRandomValues<T extends ArrayBufferView>(view: T): T {
      bytesOf(view).set(getRandomValues(new Uint8Array(view.byteLength)));
      return view;
    },
  });
}

function bytesOf(source: ArrayBufferView | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}

/** Where PostgreSQL looks for a request to stop: the addresses of two C variables of type `sig_atomic_t`. */
export interface InterruptFlags {
  readonly memory: SharedArrayBuffer;
  readonly interruptPending: number;
  readonly queryCancelPending: number;
}

/** What PostgreSQL's own signal handler does at a SIGINT (its `StatementCancelHandler`). */
export function requestCancel({ memory, interruptPending, queryCancelPending }: InterruptFlags): void {
  const view = new Int32Array(memory);
  Atomics.store(view, queryCancelPending / 4, 1);
  Atomics.store(view, interruptPending / 4, 1);
}

/** Takes back a request that came when the statement was over already; the next one must not get it. */
export function clearCancel({ memory, queryCancelPending }: InterruptFlags): void {
  Atomics.store(new Int32Array(memory), queryCancelPending / 4, 0);
}

/** Reads them off PGlite's Emscripten module, whose memory must be shared. */
export function findInterruptFlags(module: object, memory: ArrayBufferLike): InterruptFlags {
  const interruptPending: unknown = Reflect.get(module, "_InterruptPending");
  const queryCancelPending: unknown = Reflect.get(module, "_QueryCancelPending");
  if (
    typeof interruptPending !== "number" || typeof queryCancelPending !== "number" ||
    !(memory instanceof SharedArrayBuffer)
  ) throw new Error("this build of PGlite does not show where its interrupt flags are");
  return { memory, interruptPending, queryCancelPending };
}

/** The parts of a WebAssembly binary that matter here (core specification, "Binary Format"). */
const headBytes = 8;
const importSection = 2;
const importKind = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const hasMaximum = 1;
const sharedWithMaximum = 3;
const minimumPages = 0;
const maximumPages = 65_536;

/**
 * The module with the memory that it imports declared as shared, and of any size. Loads and stores mean the same on a
 * shared memory, so code compiled without threads runs on it; a module that imports no memory comes back as it is.
 */
function withSharedMemoryImport(module: Uint8Array): Uint8Array<ArrayBuffer> {
  const read = createReader(module, headBytes);
  while (read.offset() < module.length) {
    const sectionStart = read.offset();
    const id = read.byte();
    const size = read.integer();
    const bodyStart = read.offset();
    if (id === importSection) {
      const limits = memoryLimits(read);
      if (limits === undefined) break;
      const shared = [sharedWithMaximum, ...encodeInteger(minimumPages), ...encodeInteger(maximumPages)];
      const newSize = size - (limits.end - limits.start) + shared.length;
      return Buffer.concat([
        module.subarray(0, sectionStart + 1),
        new Uint8Array(encodeInteger(newSize)),
        module.subarray(bodyStart, limits.start),
        new Uint8Array(shared),
        module.subarray(limits.end),
      ]);
    }
    read.skip(size);
  }
  return new Uint8Array(module);
}

type Reader = ReturnType<typeof createReader>;

function createReader(bytes: Uint8Array, start: number) {
  let offset = start;
  const byte = () => bytes[offset++] ?? 0;
  /** Unsigned LEB128. */
  function integer(): number {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const next = byte();
      value += (next & 127) * factor;
      if (next < 128) return value;
    }
  }
  return { offset: () => offset, byte, integer, skip: (count: number) => void (offset += count) };
}

function memoryLimits(read: Reader): { start: number; end: number } | undefined {
  for (let left = read.integer(); left > 0; left--) {
    read.skip(read.integer());
    read.skip(read.integer());
    const kind = read.byte();
    const start = read.offset();
    if (kind === importKind.memory) {
      skipLimits(read);
      return { start, end: read.offset() };
    }
    if (kind === importKind.function) read.integer();
    else if (kind === importKind.global) read.skip(2);
    else read.skip(1);
    if (kind === importKind.table) skipLimits(read);
    if (kind === importKind.tag) read.integer();
  }
  return undefined;
}

function skipLimits(read: Reader): void {
  const flags = read.byte();
  read.integer();
  if ((flags & hasMaximum) !== 0) read.integer();
}

function encodeInteger(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...encodeInteger(Math.floor(value / 128))];
}
