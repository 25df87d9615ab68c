/** A worker that runs one model; `onnx_models.ts` is its other side. One request at a time. */
import { createTextEncoding, type EncodedText, type TextEncoding } from "./encode_text.ts";
import {
  type InferenceSession,
  openNativeSession,
  openWasmSession,
  type Output,
} from "./inference_session.ts";
import { type ModelFolder, type ModelSettings, readModelFolder } from "./read_model_folder.ts";

/** The first message, with the port for the others. */
export interface ModelStart {
  readonly settings: ModelSettings;
  /** ONNX Runtime's own library, and on how many threads; else WebAssembly. */
  readonly native?: { readonly folder: string; readonly threads: number } | undefined;
  readonly wasm?: Uint8Array<ArrayBuffer> | undefined;
}

export type ModelRequest =
  | { readonly kind: "embed"; readonly texts: readonly string[]; readonly purpose: "query" | "document" }
  | { readonly kind: "score"; readonly query: string; readonly texts: readonly string[] };

/** `ready` and `refused` answer the start, the others a request; `rows` has as many as there were texts. */
export type ModelReply =
  | { readonly kind: "ready" }
  /** `library`: the system's library cannot be used, and WebAssembly may do. */
  | { readonly kind: "refused"; readonly part: "library" | "model"; readonly message: string }
  | { readonly kind: "rows"; readonly rows: readonly Float32Array[]; readonly tokens: number }
  | { readonly kind: "failed"; readonly message: string };

/** Tokens of a run, padding included; a text that is longer runs alone. */
const tokensPerRun = 2048;

/** Reads what the rows of a run's output are: vectors, or scores of one number. */
type ReadRows = (output: Output, batch: readonly EncodedText[]) => Float32Array[];

async function openModel({ settings, native, wasm }: ModelStart) {
  const folder = await readModelFolder(settings);
  const encoding = createTextEncoding(folder);
  const session = await openSession(folder, native, wasm);
  const { output, readRows } = settings.task === "rerank"
    ? scoreReader(session)
    : vectorReader(session, folder);
  const unknown = session.inputs.find((name) => !inputNames.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`the model wants an input ${unknown}, which Postern cannot make`);
  }

  const answer = async (request: ModelRequest): Promise<ModelReply> => {
    const encoded = request.texts.map((text) =>
      request.kind === "embed"
        ? encoding.encode(folder.prefixes[request.purpose] + text)
        : encoding.encode(request.query, text)
    );
    const rows: Float32Array[] = new Array(encoded.length);
    for (const places of batchesOf(encoded)) {
      const batch = places.map((place) => encoded[place] ?? { ids: [], types: [] });
      const { inputs, shape } = inputsOf(batch, encoding, session);
      const read = readRows(await session.run(inputs, shape, output), batch);
      places.forEach((place, at) => rows[place] = read[at] ?? new Float32Array());
    }
    return { kind: "rows", rows, tokens: encoded.reduce((sum, { ids }) => sum + ids.length, 0) };
  };
  // what only a run shows is told before anybody needs it
  const texts = ["a"];
  await answer(
    settings.task === "rerank"
      ? { kind: "score", query: "a", texts }
      : { kind: "embed", texts, purpose: "query" },
  );
  return answer;
}

class LibraryError extends Error {}

async function openSession(
  { modelFile }: ModelFolder,
  native: ModelStart["native"],
  wasm: ModelStart["wasm"],
): Promise<InferenceSession> {
  try {
    if (native !== undefined) return openNativeSession(native.folder, modelFile, native.threads);
    return await openWasmSession(wasm ?? new Uint8Array(), modelFile);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // the library tells of a model's faults by codes of its own
    if (native !== undefined && !/model|onnx|protobuf/i.test(message)) throw new LibraryError(message);
    throw new TypeError(`cannot load ${modelFile}: ${message}`);
  }
}

/** Places of texts, those of like length together. */
function batchesOf(encoded: readonly EncodedText[]): number[][] {
  const lengthAt = (place: number) => encoded[place]?.ids.length ?? 0;
  const batches: number[][] = [];
  for (const place of [...encoded.keys()].sort((one, other) => lengthAt(one) - lengthAt(other))) {
    const batch = batches.at(-1);
    if (batch === undefined || (batch.length + 1) * lengthAt(place) > tokensPerRun) batches.push([place]);
    else batch.push(place);
  }
  return batches;
}

const inputNames = ["input_ids", "attention_mask", "token_type_ids"];

function inputsOf(batch: readonly EncodedText[], { padId }: TextEncoding, { inputs }: InferenceSession) {
  const length = Math.max(...batch.map(({ ids }) => ids.length));
  const matrix = (valuesOf: (text: EncodedText) => readonly number[], padding: number) => {
    const flat = new BigInt64Array(batch.length * length).fill(BigInt(padding));
    batch.forEach((text, row) => flat.set(valuesOf(text).map(BigInt), row * length));
    return flat;
  };
  const all: Readonly<Record<string, BigInt64Array>> = {
    input_ids: matrix(({ ids }) => ids, padId),
    attention_mask: matrix(({ ids }) => ids.map(() => 1), 0),
    token_type_ids: matrix(({ types }) => types, 0),
  };
  const used = Object.entries(all).filter(([name]) => inputs.includes(name));
  return { inputs: Object.fromEntries(used), shape: [batch.length, length] as const };
}

function scoreReader({ outputs }: InferenceSession): { output: string; readRows: ReadRows } {
  if (!outputs.includes("logits")) {
    throw new TypeError("it makes embeddings and scores no pairs: reranking needs a cross-encoder");
  }
  return {
    output: "logits",
    readRows({ data, dims }, batch) {
      if (data.length === batch.length) {
        return Array.from(data, (score) => Float32Array.of(1 / (1 + Math.exp(-score))));
      }
      throw new TypeError(`the model gives ${dims.at(-1)} scores for a pair; reranking needs one`);
    },
  };
}

function vectorReader(
  { outputs }: InferenceSession,
  folder: ModelFolder,
): { output: string; readRows: ReadRows } {
  const rowsOf = ({ data }: Output, count: number) =>
    Array.from(
      { length: count },
      (_, row) => data.slice(row * data.length / count, (row + 1) * data.length / count),
    );
  const whole = "sentence_embedding";
  if (outputs.includes(whole)) {
    return {
      output: whole,
      readRows: (output, batch) => rowsOf(output, batch.length),
    };
  }
  const output = ["last_hidden_state", "token_embeddings"].find((name) => outputs.includes(name));
  if (output === undefined) {
    throw new TypeError(
      outputs.includes("logits")
        ? "it is a cross-encoder, which scores pairs: embeddings need another model"
        : `it has no output last_hidden_state, token_embeddings or ${whole}`,
    );
  }
  const pooling = folder.pooling();
  return {
    output,
    readRows: (states, batch) =>
      rowsOf(states, batch.length).map((row, at) => {
        const vector = pooled(row, batch[at]?.ids.length ?? 0, states.dims.at(-1) ?? 0);
        const length = folder.normalizes ? Math.hypot(...vector) : 1;
        return vector.map((value) => value / (length || 1));
      }),
  };

  function pooled(states: Float32Array, tokens: number, dimensions: number): Float32Array {
    const vector = states.slice(0, dimensions);
    if (pooling === "cls") return vector;
    for (let token = 1; token < tokens; token++) {
      for (let at = 0; at < dimensions; at++) {
        const value = states[token * dimensions + at] ?? 0;
        vector[at] = pooling === "max" ? Math.max(vector[at] ?? 0, value) : (vector[at] ?? 0) + value;
      }
    }
    return pooling === "max" ? vector : vector.map((sum) => sum / tokens);
  }
}

const messageOf = (error: unknown) => error instanceof Error ? error.message : String(error);

addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  if (port === undefined) return;
  const tell = (reply: ModelReply) => port.postMessage(reply);
  try {
    const answer = await openModel(event.data);
    port.onmessage = async ({ data }: MessageEvent<ModelRequest>) =>
      tell(await answer(data).catch((error) => ({ kind: "failed", message: messageOf(error) })));
    tell({ kind: "ready" });
  } catch (error) {
    tell({
      kind: "refused",
      part: error instanceof LibraryError ? "library" : "model",
      message: messageOf(error),
    });
  }
});
