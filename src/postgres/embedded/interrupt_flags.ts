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
