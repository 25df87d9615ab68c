/** How the program runs: what Deno lets it do, and what V8 is told. `deno.json`'s task `demo` has the same. */

/**
 * The network stays open. `run` is for the parent of several processes: all others give it up at once
 * (`give_up_permissions`), since only a fixed path could be named here. `ffi` is for the threads of models, each of which
 * gets it for the folder of ONNX Runtime's library; the process itself gives it up as soon as they have begun.
 */
export const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run",
  "--allow-ffi",
];

/** What V8 is told. */
export const v8Flags = [
  // translated well, PGlite's WebAssembly takes 1.7 GB
  "--no-wasm-tier-up",
  "--no-wasm-dynamic-tiering",
  // what calls leave behind is collected sooner (docs/performance.md)
  "--max-semi-space-size=16",
  "--heap-growing-percent=50",
  // V8 takes what every request makes for long-lived, and then keeps each whole request with it until it marks the old
  // generation: a fifth more CPU, and twice the p99
  "--no-allocation-site-pretenuring",
].join(",");
