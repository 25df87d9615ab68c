/** How the program runs: what Deno lets it do, and what V8 is told. `deno.json`'s task `demo` has the same. */

/** The network stays open; what is missing, such as `run` and `ffi`, the executable cannot do. */
export const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
];

// translated well, PGlite's WebAssembly takes 1.7 GB
export const v8Flags = "--no-wasm-tier-up,--no-wasm-dynamic-tiering";
