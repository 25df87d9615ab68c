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

/** With ONNX Runtime's library of the system, which runs on this thread and on others of its own. */
export function openNativeSession(folder: string, modelFile: string, threads: number): InferenceSession {
  const module: { exports: NativeBinding } = { exports: {} as NativeBinding };
  process.dlopen(module, join(folder, "onnxruntime_binding.node"));
  const { exports: binding } = module;
  // 3: errors alone are logged
  binding.initOrtOnce(3, NativeTensor, false);
  const session = new binding.InferenceSession();
  session.loadModel(modelFile, { intraOpNumThreads: threads });
  const namesOf = (metadata: readonly { readonly name: string }[]) => metadata.map(({ name }) => name);
  return {
    inputs: namesOf(session.inputMetadata),
    outputs: namesOf(session.outputMetadata),
    run(inputs, shape, output) {
      const tensors = Object.entries(inputs).map(([name, data]) =>
        [name, new NativeTensor("int64", data, shape)] as const
      );
      const results = session.run(Object.fromEntries(tensors), { [output]: null }, {});
      return Promise.resolve(outputOf(results[output]));
    },
  };
}

interface NativeBinding {
  initOrtOnce(logLevel: number, tensor: typeof NativeTensor, isMainThread: boolean): void;
  readonly InferenceSession: new () => {
    loadModel(path: string, options: { readonly intraOpNumThreads: number }): void;
    readonly inputMetadata: readonly { readonly name: string }[];
    readonly outputMetadata: readonly { readonly name: string }[];
    run(
      feeds: Readonly<Record<string, NativeTensor>>,
      fetches: Readonly<Record<string, null>>,
      options: Readonly<Record<string, never>>,
    ): Readonly<Record<string, NativeTensor>>;
  };
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
      const tensors = Object.entries(inputs).map(([name, data]) =>
        [name, new Tensor("int64", data, shape)] as const
      );
      return outputOf((await session.run(Object.fromEntries(tensors), [output]))[output]);
    },
  };
}

function outputOf(tensor: { readonly data: unknown; readonly dims: readonly number[] } | undefined): Output {
  if (tensor?.data instanceof Float32Array) return { data: tensor.data, dims: tensor.dims };
  throw new TypeError("the model's output is not of 32-bit floating point");
}
