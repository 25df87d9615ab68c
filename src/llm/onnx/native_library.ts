import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { AppError } from "../../core/app_error.ts";

/** Where to get it, and what goes without it. */
export const libraryAdvice =
  "WebAssembly on one thread then runs the models, 10 to 50 times as slow; for ONNX Runtime's library run " +
  "`npm install --prefix DIR onnxruntime-node@1.30.0` and set models.library_path to DIR, or unpack the package as the " +
  "folder onnxruntime-node beside the executable (docs/rag.md)";

/**
 * The folder of ONNX Runtime's library for this system: in the one that is configured, else in `onnxruntime-node` beside the
 * executable. Undefined where it is in neither.
 *
 * @param configured an unpacked package onnxruntime-node, one that npm installed it into, or the library's own
 * @throws {AppError} `invalid` where one is configured and has none
 */
export async function findNativeLibrary(configured: string | undefined): Promise<string | undefined> {
  const program = Deno.build.standalone ? Deno.execPath() : fileURLToPath(Deno.mainModule);
  const folder = configured ?? join(dirname(program), "onnxruntime-node");
  const binding = join("bin", "napi-v6", process.platform, process.arch);
  for (
    const within of [
      ".",
      binding,
      join("package", binding),
      join("node_modules", "onnxruntime-node", binding),
    ]
  ) {
    const path = join(folder, within);
    const isThere = await Deno.stat(join(path, "onnxruntime_binding.node")).then(() => true, () => false);
    if (isThere) return path;
  }
  if (configured === undefined) return undefined;
  throw new AppError(
    "invalid",
    `models.library_path: cannot use ${configured}: it holds no onnxruntime_binding.node for ` +
      `${process.platform}/${process.arch}; ${libraryAdvice}`,
  );
}
