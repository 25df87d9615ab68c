import { withSharedMemoryImport } from "./wasm_memory_import.ts";

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
