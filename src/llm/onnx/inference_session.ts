import process from "node:process";
import { join } from "node:path";

/** A model that is loaded. Its inputs are whole numbers, a row for each text. */
export interface InferenceSession {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** @param shape texts, and tokens of each */
  run(
    inputs: Readonly<Record<string, BigInt64Array>>,
    shape: readonly [number, number],
    output: string,
  ): Promise<Output>;
}

/** Numbers of an output, the last dimension's beside each other. */
export interface Output {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/**
 * Loads ONNX Runtime's library of the system, which runs on this thread and on others of its own.
 * @returns what opens a model
 * @throws {Error} where it is not for this system, or may not be loaded
 */
export function loadLibrary(folder: string) {
  const module: { exports: Partial<NativeBinding> } = { exports: {} };
  process.dlopen(module, join(folder, "onnxruntime_binding.node"));
  const { initOrtOnce, InferenceSession: Session } = module.exports;
  if (initOrtOnce === undefined || Session === undefined) throw new TypeError("it is no ONNX Runtime");
  // 3: errors alone are logged
  initOrtOnce(3, NativeTensor, false);
  // deno-lint-ignore require-await
  return async (modelFile: string, intraOpNumThreads: number): Promise<InferenceSession> => {
    const session = new Session();
    session.loadModel(modelFile, { intraOpNumThreads });
    return {
      inputs: session.inputMetadata.map(({ name }) => name),
      outputs: session.outputMetadata.map(({ name }) => name),
      // deno-lint-ignore require-await
      async run(inputs, shape, output) {
        const feeds = tensorsOf(inputs, (data) => new NativeTensor("int64", data, shape));
        return outputOf(session.run(feeds, { [output]: null }, {})[output]);
      },
    };
  };
}

interface NativeBinding {
  initOrtOnce(logLevel: number, tensor: typeof NativeTensor, isMainThread: boolean): void;
  readonly InferenceSession: new () => {
    loadModel(path: string, options: { readonly intraOpNumThreads: number }): void;
    readonly inputMetadata: readonly { readonly name: string }[];
    readonly outputMetadata: readonly { readonly name: string }[];
    run(feeds: Tensors<NativeTensor>, fetches: Tensors<null>, options: object): Tensors<NativeTensor>;
  };
}

type Tensors<T> = Readonly<Record<string, T>>;

function tensorsOf<T>(inputs: Tensors<BigInt64Array>, tensorOf: (data: BigInt64Array) => T): Tensors<T> {
  return Object.fromEntries(Object.entries(inputs).map(([name, data]) => [name, tensorOf(data)]));
}

/** What the library reads and makes. */
class NativeTensor {
  readonly location = "cpu";
  constructor(readonly type: string, readonly data: unknown, readonly dims: readonly number[]) {}
}

/** With ONNX Runtime in WebAssembly, on this thread alone. */
export async function openWasmSession(
  wasm: Uint8Array<ArrayBuffer>,
  modelFile: string,
): Promise<InferenceSession> {
  // it would look for its files beside this page, and there is none
  Reflect.deleteProperty(globalThis, "location");
  const { env, InferenceSession, Tensor } = await import("onnxruntime-web/wasm");
  env.wasm.numThreads = 1;
  env.wasm.wasmBinary = wasm.buffer;
  env.logLevel = "error";
  const session = await InferenceSession.create(await Deno.readFile(modelFile));
  return {
    inputs: session.inputNames,
    outputs: session.outputNames,
    async run(inputs, shape, output) {
      const feeds = tensorsOf(inputs, (data) => new Tensor("int64", data, shape));
      return outputOf((await session.run(feeds, [output]))[output]);
    },
  };
}

function outputOf(tensor: { readonly data: unknown; readonly dims: readonly number[] } | undefined): Output {
  if (tensor?.data instanceof Float32Array) return { data: tensor.data, dims: tensor.dims };
  throw new TypeError("the model's output is not of 32-bit floating point");
}
