/** How the program runs: what Deno lets it do, and what V8 is told. `deno.json`'s task `demo` has the same, on V8 14. */

/** The network stays open; what is missing, such as `run` and `ffi`, the executable cannot do. */
export const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
];

/** What V8 is told, by its major version. */
export function v8FlagsFor(version: number): string {
  return [
    // translated well, PGlite's WebAssembly takes 1.7 GB
    "--no-wasm-tier-up",
    "--no-wasm-dynamic-tiering",
    // what calls leave behind is collected sooner (docs/performance.md); V8 before version 14 takes a third more CPU for 100
    // rows where its young generation is this small
    `--max-semi-space-size=${version >= 14 ? 16 : 32}`,
    "--heap-growing-percent=50",
  ].join(",");
}

export const v8Flags = v8FlagsFor(Number.parseInt(Deno.version.v8));
