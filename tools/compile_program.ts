import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { PackedFile } from "../src/core/files/packed_files.ts";
import { pageFiles } from "../src/console/page_files.ts";
import { snapshotFile } from "../src/demo/demo_database.ts";
import type { Bundle } from "./bundle_program.ts";
import { permissions, v8Flags } from "../src/app/processes/runtime.ts";

export interface CompileOptions {
  readonly bundle: Bundle;
  /** As in `deno compile --target`; this machine's where it is absent. */
  readonly target?: string | undefined;
  /** The executable's path. */
  readonly output: string;
}

const pglite = import.meta.resolve("@electric-sql/pglite");

/** What nobody needs in memory: the embedded PostgreSQL and the demo's data, the console's page, what runs models, and PostgreSQL's grammar once it is compiled. */
const packedFiles = {
  "pglite.wasm": { source: new URL("pglite.wasm", pglite), gzip: true },
  "initdb.wasm": { source: new URL("initdb.wasm", pglite), gzip: true },
  "pglite.data": { source: new URL("pglite.data", pglite), gzip: true },
  "ort-wasm-simd-threaded.wasm": {
    source: new URL(import.meta.resolve("onnxruntime-web/ort-wasm-simd-threaded.wasm")),
    gzip: true,
  },
  "demo_snapshot.tar.gz": { source: snapshotFile, gzip: false },
  "page_files.json": { source: pageFiles, gzip: true },
  // read at each start
  "libpg-query.wasm": {
    source: new URL("libpg-query.wasm", import.meta.resolve("libpg-query/wasm/libpg-query.js")),
    gzip: false,
  },
};

/**
 * Compiles a bundle with the Deno that runs this. A bundle may be compiled for several targets, one after the other.
 *
 * On Linux, Deno's runtime copies all that it carries into memory at its start. The packed files therefore stand between
 * the runtime and what it carries, where it sees nothing of them. Elsewhere the system maps what the runtime carries, and
 * code signing allows nothing outside of that.
 *
 * @throws {Error} where `deno compile` fails
 */
export async function compileProgram({ bundle, target, output }: CompileOptions): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const work = await Deno.makeTempDir({ prefix: "postern_compile_" });
  cleanup.defer(() => Deno.remove(work, { recursive: true }));
  const runtime = await extensibleRuntime(target, work);

  const parts = runtime === undefined ? [] : [runtime];
  let offset = runtime?.length ?? 0;
  const included = [...bundle.included];
  if (runtime === undefined) {
    included.push(...await packBeside(bundle.folder));
  } else {
    const index: Record<string, PackedFile> = {};
    for await (const { name, bytes, gzip } of packedBytes()) {
      index[name] = { offset, length: bytes.length, gzip };
      parts.push(bytes);
      offset += bytes.length;
    }
    included.push(await writeIndex(bundle.folder, index));
  }
  const extended = join(work, "extended");
  await Deno.writeFile(extended, new Blob(parts).stream(), { mode: 0o755 });

  // the executable has each file's time: the same files make the same executable
  for (const name of await readdir(bundle.folder, { recursive: true })) {
    await Deno.utime(join(bundle.folder, name), 0, 0);
  }
  // V8's cache would be a file in the temporary folder with a known name, where anybody may put code for others to run
  const options = ["--no-check", "--no-code-cache", ...permissions, `--v8-flags=${v8Flags}`];
  const includes = included.flatMap((path) => ["--include", path]);
  await denoCompile(
    [...options, "--config", join(bundle.folder, "deno.json"), ...includes],
    { main: join(bundle.folder, "main.js"), target, output, ...(runtime && { runtime: extended }) },
  );
}

/**
 * Packs the files that nobody needs in memory into a folder, beside the modules that read them.
 * @returns their paths
 */
export async function packBeside(folder: string): Promise<string[]> {
  const index: Record<string, PackedFile> = {};
  const paths: string[] = [];
  for await (const { name, bytes, gzip } of packedBytes()) {
    // `deno compile` would take a `.wasm` for a module
    const path = join(folder, `${name}.bin`);
    await Deno.writeFile(path, bytes);
    index[name] = { file: `./${name}.bin`, gzip };
    paths.push(path);
  }
  return [...paths, await writeIndex(folder, index)];
}

async function* packedBytes() {
  for (const [name, { source, gzip }] of Object.entries(packedFiles)) {
    const file = await Deno.readFile(source);
    yield { name, gzip, bytes: gzip ? gzipSync(file, { level: 9 }) : file };
  }
}

async function writeIndex(folder: string, index: Readonly<Record<string, PackedFile>>): Promise<string> {
  const path = join(folder, "packed_files.json");
  await Deno.writeTextFile(path, JSON.stringify(index));
  return path;
}

/** The runtime of `deno compile` for a target; undefined where nothing can stand between it and what it carries. */
async function extensibleRuntime(
  target: string | undefined,
  work: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const [main, output] = [join(work, "empty.js"), join(work, "empty")];
  await Deno.writeTextFile(main, "");
  await denoCompile(["--no-config"], { main, target, output });
  // on Windows with its ending
  const executable = await Deno.readFile(output).catch(() => new Uint8Array());
  const trailer = executable.subarray(-trailerBytes);
  const view = new DataView(trailer.buffer, trailer.byteOffset, trailer.byteLength);
  if (trailer.length < trailerBytes || view.getUint32(0, true) !== trailerMark) return undefined;
  return executable.slice(0, executable.length - Number(view.getBigUint64(8, true)));
}

/** Of what Deno 2.4's `libsui` appends to an ELF file: a mark, a hash of the name, and the length of all it appended. */
const trailerBytes = 16;
const trailerMark = 0x501e;

interface DenoCompile {
  readonly main: string;
  readonly target: string | undefined;
  readonly output: string;
  /** In place of Deno's own. */
  readonly runtime?: string;
}

async function denoCompile(
  options: readonly string[],
  { main, target, output, runtime }: DenoCompile,
): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["compile", "--quiet", ...options],
      ...(target === undefined ? [] : ["--target", target]),
      ...["--output", output, main],
    ],
    env: runtime === undefined ? {} : { DENORT_BIN: runtime },
  }).spawn().status;
  if (!success) throw new Error(`Cannot compile ${output}: deno compile failed`);
}
