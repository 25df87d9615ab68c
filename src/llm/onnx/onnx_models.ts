import process from "node:process";
import { availableParallelism } from "node:os";
import { createGate } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { startThread } from "../../core/async/thread.ts";
import { openPackedFiles } from "../../core/files/packed_files.ts";
import type { Logger } from "../../core/logger.ts";
import { ProviderError } from "../provider_error.ts";
import type { ModelReply, ModelRequest, ModelStart } from "./onnx_worker.ts";
import { modelFolderOf, type ModelSettings } from "./read_model_folder.ts";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A model, for one of those that use it. */
export interface OnnxModel extends AsyncDisposable {
  /** The most tokens of a text that it reads. */
  readonly readTokens: number;
  /**
   * @returns a row for each text, and how many tokens they were
   * @throws {ProviderError} or the signal's reason; what was begun goes on to its end
   */
  run(request: ModelRequest, signal: AbortSignal): Promise<Extract<ModelReply, { kind: "rows" }>>;
}

/** The models of this process, each loaded once however many use it; disposing of them ends those that are loaded. */
export interface OnnxModels extends AsyncDisposable {
  /** @throws {AppError} `invalid` where the model cannot be used: it names the file, and what is wrong */
  open(settings: ModelSettings): Promise<OnnxModel>;
}

/** Requests of one user of a model that may wait. */
const maxWaiting = 1_000;
/** As many as use the processor well without the library's threads standing in the server's way. */
const mostThreads = 4;

/**
 * Each model has a thread of its own, which may read its folder and load ONNX Runtime's library, and nothing else.
 *
 * @param options.libraryPath where the library is, as configured
 */
export function createOnnxModels(
  { libraryPath, logger }: { readonly libraryPath: string | undefined; readonly logger: Logger },
): OnnxModels {
  const loaded = new Map<string, { readonly model: Promise<LoadedModel>; users: number }>();
  let users = 0;
  return {
    async open(settings) {
      const key = JSON.stringify(settings);
      const entry = loaded.get(key) ?? { model: loadModel(settings, libraryPath, logger), users: 0 };
      loaded.set(key, entry);
      entry.users++;
      const caller = String(users++);
      const leave = async () => {
        if (--entry.users > 0) return;
        loaded.delete(key);
        (await entry.model)[Symbol.dispose]();
      };
      try {
        const model = await entry.model;
        return {
          readTokens: model.readTokens,
          run: (request, signal) => model.run(request, caller, signal),
          [Symbol.asyncDispose]: leave,
        };
      } catch (error) {
        if (loaded.get(key) === entry) loaded.delete(key);
        throw error;
      }
    },
    async [Symbol.asyncDispose]() {
      const models = [...loaded.values()];
      loaded.clear();
      for (const { model } of models) (await model)[Symbol.dispose]();
    },
  };
}

type LoadedModel = Awaited<ReturnType<typeof loadModel>>;

async function loadModel(settings: ModelSettings, libraryPath: string | undefined, logger: Logger) {
  const thread = await startModel(settings, await findNativeLibrary(libraryPath), logger);
  const gate = createGate({ places: 1, maxWaiting, maxWaitMs: Infinity });
  return {
    readTokens: thread.readTokens,
    async run(request: ModelRequest, caller: string, signal: AbortSignal) {
      const leave = await gate.enter(caller, signal).catch((error) => {
        if (!(error instanceof AppError)) throw error;
        throw new ProviderError("rate_limit", `more than ${maxWaiting} requests wait for the model`);
      });
      const reply = await untilAborted(thread.ask(request).finally(leave), signal);
      if (reply.kind === "rows") return reply;
      throw new ProviderError("provider", reply.kind === "failed" ? reply.message : "the model gave no rows");
    },
    [Symbol.dispose]() {
      gate[Symbol.dispose]();
      thread.close();
    },
  };
}

/** @throws {AppError} `invalid` where the model cannot be used */
async function startModel(settings: ModelSettings, library: string | undefined, logger: Logger) {
  const { state } = await Deno.permissions.query({ name: "ffi" });
  let why = library === undefined ? "is not there" : "can be loaded at a start alone";
  if (library !== undefined && state === "granted") {
    const threads = Math.min(mostThreads, availableParallelism());
    const native = { folder: library, threads };
    const { reply, ...thread } = await openThread({ settings, native }, { ffi: [library] });
    if (reply.kind === "ready") return { ...thread, readTokens: reply.readTokens };
    thread.close();
    if (!reply.isOfLibrary) throw unusable(settings, reply.message);
    why = `in ${library} cannot be loaded: ${reply.message}`;
  }
  logger.warn(`ONNX Runtime's library ${why}. ${libraryAdvice}`, { model: settings.path });
  const { reply, ...thread } = await openThread({ settings, wasm: await readWasm() }, {});
  if (reply.kind === "ready") return { ...thread, readTokens: reply.readTokens };
  thread.close();
  throw unusable(settings, reply.message);
}

function unusable({ path }: ModelSettings, reason: string): AppError {
  return new AppError("invalid", `Cannot use the model ${path}: ${reason}`);
}

async function readWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const name = "ort-wasm-simd-threaded.wasm";
  using packed = await openPackedFiles();
  return packed === undefined
    ? await Deno.readFile(new URL(import.meta.resolve(`onnxruntime-web/${name}`)))
    : await packed.read(name);
}

/** A thread, and what it replied to its start. */
async function openThread(start: ModelStart, { ffi = [] }: { readonly ffi?: string[] }) {
  const permissions = { read: [modelFolderOf(start.settings.path), ...ffi], ffi };
  const module = import.meta.resolve("./onnx_worker.ts");
  const { started, ask, close } = startThread<ModelRequest, ModelReply>(module, permissions, start);
  const fail = ({ message }: Error): Extract<ModelReply, { kind: "failed" }> => (
    { kind: "failed", message: `the model's thread ended: ${message}`, isOfLibrary: false }
  );
  return {
    reply: await started.catch(fail) as Exclude<ModelReply, { kind: "rows" }>,
    ask: (request: ModelRequest) => ask(request).catch(fail),
    close,
  };
}

/** Where to get the library, and what goes without it. */
const libraryAdvice =
  "WebAssembly on one thread then runs the models, 10 to 50 times as slow; for ONNX Runtime's library run " +
  "`npm install --ignore-scripts --prefix DIR onnxruntime-node@1.30.0` and set models.library_path to DIR, or unpack the package as the " +
  "folder onnxruntime-node beside the executable (docs/rag.md)";

/**
 * The folder of ONNX Runtime's library for this system: in the one that is configured, else in `onnxruntime-node` beside the
 * executable. Undefined where it is in neither.
 *
 * @param configured an unpacked package onnxruntime-node, one that npm installed it into, or the library's own
 * @throws {AppError} `invalid` where one is configured and has none
 */
async function findNativeLibrary(configured: string | undefined): Promise<string | undefined> {
  const program = Deno.build.standalone ? Deno.execPath() : fileURLToPath(Deno.mainModule);
  const folder = configured ?? join(dirname(program), "onnxruntime-node");
  const binding = join("bin", "napi-v6", process.platform, process.arch);
  const places = [".", binding, join("package", binding), join("node_modules", "onnxruntime-node", binding)];
  for (const within of places) {
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
