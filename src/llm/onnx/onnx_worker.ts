/** A worker that runs one model; `onnx_models.ts` is its other side. One request at a time. */
import { type InferenceSession, loadLibrary, openWasmSession, type Output } from "./inference_session.ts";
import type { Pooling } from "../provider_kinds.ts";
import { type ModelFolder, type ModelSettings, readModelFolder } from "./read_model_folder.ts";
import { Tokenizer } from "@huggingface/tokenizers";
import { valueAt } from "../../core/yaml/value_tree.ts";

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

/** `ready` answers the start, `rows` a request: as many as there were texts. */
export type ModelReply =
  | { readonly kind: "ready"; readonly readTokens: number }
  | { readonly kind: "rows"; readonly rows: readonly Float32Array[]; readonly tokens: number }
  /** `isOfLibrary`: the system's library cannot be used, and WebAssembly may do. */
  | { readonly kind: "failed"; readonly message: string; readonly isOfLibrary: boolean };

/** Tokens of a run, padding included: with more, each text runs by itself. */
const tokensPerRun = 2048;

/** What is read of a run's output: vectors, or scores of one number. */
interface OutputReader {
  readonly name: string;
  rows(output: Output, batch: readonly EncodedText[]): Float32Array[];
}

class LibraryError extends Error {}

async function openModel({ settings, native, wasm = new Uint8Array() }: ModelStart) {
  const folder = await readModelFolder(settings);
  const encoding = createTextEncoding(folder);
  const load = native === undefined ? undefined : openLibrary(native.folder);
  const session = await (load?.(folder.modelFile, native?.threads ?? 1) ??
    openWasmSession(wasm, folder.modelFile)).catch((error) => {
      throw new TypeError(`cannot load ${folder.modelFile}: ${messageOf(error)}`);
    });
  const reader = settings.task === "rerank" ? scoreReader(session) : vectorReader(session, folder);
  const unknown = session.inputs.find((name) => !inputNames.includes(name));
  if (unknown !== undefined) throw new TypeError(`it wants an input ${unknown}, which Postern cannot make`);

  async function answer(request: ModelRequest): Promise<ModelReply> {
    const encoded = request.texts.map((text) =>
      request.kind === "embed"
        ? encoding.encode(folder.prefixes[request.purpose] + text)
        : encoding.encode(request.query, text)
    );
    const longest = Math.max(...encoded.map(({ ids }) => ids.length));
    const batches = longest * encoded.length > tokensPerRun ? encoded.map((each) => [each]) : [encoded];
    const rows: Float32Array[] = [];
    for (const batch of batches) {
      const output = await session.run(...inputsOf(batch, encoding, session), reader.name);
      rows.push(...reader.rows(output, batch));
    }
    if (rows.every((row) => row.every(Number.isFinite))) {
      return { kind: "rows", rows, tokens: encoded.reduce((sum, { ids }) => sum + ids.length, 0) };
    }
    throw new TypeError("it gives a number that is not finite");
  }
  // what only a run shows is told before anybody needs it
  const texts = ["a"];
  const isRerank = settings.task === "rerank";
  await answer(isRerank ? { kind: "score", query: "a", texts } : { kind: "embed", texts, purpose: "query" });
  return { answer, readTokens: folder.maxTokens };
}

function openLibrary(folder: string) {
  try {
    return loadLibrary(folder);
  } catch (error) {
    throw new LibraryError(messageOf(error));
  }
}

const inputNames = ["input_ids", "attention_mask", "token_type_ids"];

function inputsOf(batch: readonly EncodedText[], { padId }: TextEncoding, { inputs }: InferenceSession) {
  const length = Math.max(...batch.map(({ ids }) => ids.length));
  const matrix = (valuesOf: (text: EncodedText) => readonly number[], padding: number) => {
    const flat = new BigInt64Array(batch.length * length).fill(BigInt(padding));
    batch.forEach((text, row) => flat.set(valuesOf(text).map(BigInt), row * length));
    return flat;
  };
  const all = {
    input_ids: matrix(({ ids }) => ids, padId),
    attention_mask: matrix(({ ids }) => ids.map(() => 1), 0),
    token_type_ids: matrix(({ types }) => types, 0),
  };
  const used = Object.fromEntries(Object.entries(all).filter(([name]) => inputs.includes(name)));
  return [used, [batch.length, length]] as const;
}

function scoreReader({ outputs }: InferenceSession): OutputReader {
  if (!outputs.includes("logits")) {
    throw new TypeError("it makes embeddings and scores no pairs: reranking needs a cross-encoder");
  }
  return {
    name: "logits",
    rows({ data, dims }, { length }) {
      if (data.length === length) {
        return Array.from(data, (each) => Float32Array.of(1 / (1 + Math.exp(-each))));
      }
      throw new TypeError(`it gives ${dims.at(-1)} scores for a pair; reranking needs one`);
    },
  };
}

function vectorReader({ outputs }: InferenceSession, folder: ModelFolder): OutputReader {
  // the graph may pool and normalise by itself
  const whole = "sentence_embedding";
  const name = [whole, "last_hidden_state", "token_embeddings"].find((each) => outputs.includes(each));
  if (outputs.includes("logits") || name === undefined) {
    throw new TypeError(
      name === undefined && !outputs.includes("logits")
        ? `it has no output last_hidden_state, token_embeddings or ${whole}`
        : "it is a cross-encoder, which scores pairs: embeddings need another model",
    );
  }
  const pooling = name === whole ? "cls" : folder.pooling();
  return {
    name,
    rows: ({ data, dims }, batch) =>
      batch.map(({ ids }, at) => {
        const size = data.length / batch.length;
        const vector = pool(pooling, data.subarray(at * size), ids.length, dims.at(-1) ?? 0);
        const length = folder.normalizes && name !== whole ? Math.hypot(...vector) : 1;
        return vector.map((value) => value / (length || 1));
      }),
  };
}

/** @param states of a text's tokens, of each so many numbers as there are dimensions */
function pool(pooling: Pooling, states: Float32Array, tokens: number, dimensions: number): Float32Array {
  const vector = states.slice(0, dimensions);
  if (pooling === "cls") return vector;
  for (let at = dimensions; at < tokens * dimensions; at++) {
    const [value = 0, so = 0] = [states[at], vector[at % dimensions]];
    vector[at % dimensions] = pooling === "max" ? Math.max(so, value) : so + value;
  }
  return pooling === "max" ? vector : vector.map((sum) => sum / tokens);
}

/** A text, or a pair of them, as a model reads it; as many types as ids. */
interface EncodedText {
  readonly ids: readonly number[];
  /** 1 for tokens of the pair's second text. */
  readonly types: readonly number[];
}

type TextEncoding = ReturnType<typeof createTextEncoding>;

/** No tokenizer makes fewer tokens of so many characters, but of blanks. */
const charactersPerToken = 32;

/** @throws {TypeError} where the tokenizer is of a type that is not known */
function createTextEncoding(
  { tokenizer: json, tokenizerConfig, tokenizerFile, maxTokens }: ModelFolder,
) {
  const tokenizer = createTokenizer(json, tokenizerConfig, tokenizerFile);
  const [bare = 0] = tokenizer.encode("a", { add_special_tokens: false }).ids;
  // special tokens that end an input: they stay where it is cut
  const suffixLength = tokenizer.encode("a").ids.toReversed().indexOf(bare);
  const cut = (values: readonly number[]) =>
    values.length <= maxTokens
      ? values
      : [...values.slice(0, maxTokens - suffixLength), ...values.slice(values.length - suffixLength)];

  // RoBERTa has no types, and a tokenizer may number them all the same
  const hasTypes = valueAt(json, ["post_processor", "type"]) !== "RobertaProcessing";
  const pad = valueAt(tokenizerConfig, ["pad_token", "content"]) ?? valueAt(tokenizerConfig, ["pad_token"]);
  return {
    padId: (typeof pad === "string" ? tokenizer.token_to_id(pad) : undefined) ?? 0,
    /** @param other it is cut where both are too long; of `text`, no more characters count then than there may be tokens */
    encode(text: string, other?: string): EncodedText {
      const longest = maxTokens * charactersPerToken;
      const first = other === undefined ? text.slice(0, longest) : text.slice(0, maxTokens);
      const pair = other === undefined ? {} : { text_pair: other.slice(0, longest) };
      const { ids, token_type_ids } = tokenizer.encode(first, { ...pair, return_token_type_ids: true });
      return { ids: cut(ids), types: cut(token_type_ids).map((type) => hasTypes ? type : 0) };
    },
  };
}

const modelTypes: readonly unknown[] = ["WordPiece", "Unigram", "BPE"];

function createTokenizer(json: object, config: object, path: string): Tokenizer {
  const type = valueAt(json, ["model", "type"]);
  try {
    // old files have none
    if (type !== undefined && !modelTypes.includes(type)) {
      throw new TypeError(`it is of type ${type}; expected one of ${modelTypes.join(", ")}`);
    }
    const tokenizer = new Tokenizer(json, config);
    tokenizer.encode("a");
    return tokenizer;
  } catch (error) {
    throw new TypeError(`cannot use ${path}: ${error instanceof Error ? error.message : error}`);
  }
}

/** On one line. */
const messageOf = (error: unknown) =>
  String(error instanceof Error ? error.message : error).replace(/\s+/g, " ");

addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  const tell = (reply: ModelReply) => port?.postMessage(reply);
  const fail = (error: unknown) =>
    tell({ kind: "failed", message: messageOf(error), isOfLibrary: error instanceof LibraryError });
  try {
    const { answer, readTokens } = await openModel(event.data);
    if (port !== undefined) port.onmessage = ({ data }) => void answer(data).then(tell, fail);
    tell({ kind: "ready", readTokens });
  } catch (error) {
    fail(error);
  }
});
