import { availableParallelism } from "node:os";
import { createGate } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { openPackedFiles } from "../../core/files/packed_files.ts";
import type { Logger } from "../../core/logger.ts";
import { ProviderError } from "../provider_error.ts";
import { findNativeLibrary, libraryAdvice } from "./native_library.ts";
import type { ModelReply, ModelRequest, ModelStart } from "./onnx_worker.ts";
import { modelFolderOf, type ModelSettings } from "./read_model_folder.ts";

/** A model, for one of those that use it. */
export interface OnnxModel extends AsyncDisposable {
  /**
   * @returns a row for each text, and how many tokens they were
   * @throws {ProviderError} or the signal's reason; what was begun goes on to its end
   */
  run(request: ModelRequest, signal: AbortSignal): Promise<Extract<ModelReply, { kind: "rows" }>>;
}

/** The models of this process, each loaded once however many use it. */
export interface OnnxModels {
  /** @throws {AppError} `invalid` where the model cannot be used: it names the file, and what is wrong */
  open(settings: ModelSettings): Promise<OnnxModel>;
}

/** Requests of one user of a model that may wait. */
const maxWaiting = 1_000;
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
        return { run: (request, signal) => model.run(request, caller, signal), [Symbol.asyncDispose]: leave };
      } catch (error) {
        if (loaded.get(key) === entry) loaded.delete(key);
        throw error;
      }
    },
  };
}

type LoadedModel = Awaited<ReturnType<typeof loadModel>>;

async function loadModel(settings: ModelSettings, libraryPath: string | undefined, logger: Logger) {
  const folder = await findNativeLibrary(libraryPath);
  const start = async () => {
    const { state } = await Deno.permissions.query({ name: "ffi" });
    const thread = folder === undefined || state !== "granted"
      ? `ONNX Runtime's library ${folder === undefined ? "is not there" : "can be loaded at a start alone"}`
      : await startThread({ settings, native: { folder, threads: threads() } });
    if (typeof thread !== "string") return thread;
    logger.warn(`${thread}. ${libraryAdvice}`, { model: settings.path });
    const inWasm = await startThread({ settings, wasm: await readWasm() });
    if (typeof inWasm !== "string") return inWasm;
    throw new AppError("unavailable", inWasm);
  };
  const gate = createGate({ places: 1, maxWaiting, maxWaitMs: Infinity });
  let thread = await start();
  return {
    async run(request: ModelRequest, caller: string, signal: AbortSignal) {
      const leave = await gate.enter(caller, signal).catch((error) => {
        if (!(error instanceof AppError)) throw error;
        throw new ProviderError("rate_limit", `more than ${maxWaiting} requests wait for the model`);
      });
      const replied = (async () => {
        if (thread.isBroken()) thread = await start();
        return await thread.ask(request);
      })().finally(leave);
      const reply = await untilAborted(replied, signal);
      if (reply.kind === "rows") return reply;
      throw new ProviderError("provider", reply.kind === "ready" ? "the model gave no rows" : reply.message);
    },
    [Symbol.dispose]() {
      gate[Symbol.dispose]();
      thread.close();
    },
  };
}

/** As many as use the processor well without the library's threads standing in the server's way. */
function threads(): number {
  return Math.min(mostThreads, availableParallelism());
}

async function readWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const name = "ort-wasm-simd-threaded.wasm";
  using packed = await openPackedFiles();
  return packed === undefined
    ? await Deno.readFile(new URL(import.meta.resolve(`onnxruntime-web/${name}`)))
    : await packed.read(name);
}

/**
 * @returns why the library cannot be used, where it cannot
 * @throws {AppError} `invalid` where the model cannot
 */
async function startThread(start: ModelStart) {
  const { settings: { path }, native } = start;
  const worker = new Worker(import.meta.resolve("./onnx_worker.ts"), {
    type: "module",
    deno: {
      permissions: {
        read: [modelFolderOf(path), ...(native === undefined ? [] : [native.folder])],
        ...(native === undefined ? {} : { ffi: [native.folder] }),
      },
    },
  });
  const { port1: port, port2: workerPort } = new MessageChannel();
  let pending = Promise.withResolvers<ModelReply>();
  let broken: ModelReply | undefined;
  port.onmessage = ({ data }: MessageEvent<ModelReply>) => pending.resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    broken = { kind: "failed", message: `the model's thread ended: ${event.message}` };
    pending.resolve(broken);
  };
  const close = () => {
    port.close();
    worker.terminate();
  };
  worker.postMessage(start, [workerPort]);
  const reply = await pending.promise;
  if (reply.kind !== "ready") {
    close();
    const message = "message" in reply ? reply.message : "its thread does not start";
    if (reply.kind === "refused" && reply.part === "library") {
      return `ONNX Runtime's library in ${native?.folder} cannot be loaded: ${message}`;
    }
    throw new AppError("invalid", `Cannot use the model ${path}: ${message}`);
  }
  return {
    isBroken: () => broken !== undefined,
    ask(request: ModelRequest): Promise<ModelReply> {
      pending = Promise.withResolvers();
      port.postMessage(request);
      return pending.promise;
    },
    close,
  };
}
