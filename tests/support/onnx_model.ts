import { join } from "node:path";
import { temporaryFolder } from "./temporary_folder.ts";

/** Tiny models of this machine: their graphs are written byte by byte, after onnx.proto. */

const words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "query", ":", "a"];

/** Vectors of the words above: those of special tokens are the small ones. */
const vectors = [[9, 9, 9], [0, 0, 0], [0, 0, 1], [0, 0, 1], [4, 0, 0], [0, 4, 0], [0, 0, 4], [2, 2, 0], [
  0,
  0,
  0,
], [
  0,
  0,
  0,
]];

/** How much each word of a pair raises its score. */
const weights = [0, 0, 0, 0, 3, 2, 1, 0, 0, 0].map((weight) => [weight]);

export const tokenizer = {
  version: "1.0",
  truncation: null,
  padding: null,
  decoder: null,
  added_tokens: words.slice(0, 4).map((content, id) => ({
    id,
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  })),
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: {
    type: "TemplateProcessing",
    single: [special("[CLS]"), sequence("A", 0), special("[SEP]")],
    pair: [special("[CLS]"), sequence("A", 0), special("[SEP]"), sequence("B", 1), special("[SEP]")],
    special_tokens: {
      "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
      "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
    },
  },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(words.map((word, id) => [word, id])),
  },
};

function special(id: string) {
  return { SpecialToken: { id, type_id: 0 } };
}

function sequence(id: string, type: number) {
  return { Sequence: { id, type_id: type } };
}

/** Files of a model by their paths in its folder; undefined: none. */
export type ModelFiles = Readonly<Record<string, string | Uint8Array<ArrayBuffer> | object | undefined>>;

/** What makes three numbers of a text, in the layout of sentence-transformers. */
export const embeddingFiles: ModelFiles = {
  "onnx/model.onnx": embeddingGraph(),
  "tokenizer.json": tokenizer,
  "tokenizer_config.json": { pad_token: "[PAD]", model_max_length: 512 },
  "modules.json": ["Transformer", "Pooling"].map((type) => ({
    type: `sentence_transformers.models.${type}`,
  })),
  "1_Pooling/config.json": { pooling_mode_cls_token: false, pooling_mode_mean_tokens: true },
};

/** What makes a score of a pair. */
export const rerankFiles: ModelFiles = {
  "model.onnx": rerankGraph(),
  "tokenizer.json": tokenizer,
  "tokenizer_config.json": { pad_token: "[PAD]", model_max_length: 512 },
};

/** A model in a temporary folder, which goes with it. */
export async function createModelFolder(
  files: ModelFiles,
): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) continue;
    const path = join(folder.path, name);
    await Deno.mkdir(join(path, ".."), { recursive: true });
    if (content instanceof Uint8Array) await Deno.writeFile(path, content);
    else await Deno.writeTextFile(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

export function embeddingGraph(output = "last_hidden_state", inputs = ["input_ids", "attention_mask"]) {
  return modelOf({
    nodes: [node("Gather", ["table", "input_ids"], output)],
    table: vectors,
    inputs,
    output: [output, ["batch", "sequence", 3]],
  });
}

/**
 * @param scores numbers of each pair
 * @param factor of each score
 */
export function rerankGraph(scores = 1, factor = 1) {
  const sum = [...text(1, "axes"), ...bytes(8, varint(1)), ...number(20, 7)];
  const keep = [...text(1, "keepdims"), ...number(3, 0), ...number(20, 2)];
  return modelOf({
    nodes: [
      node("Gather", ["table", "input_ids"], "gathered"),
      node("ReduceSum", ["gathered"], "logits", [sum, keep]),
    ],
    table: weights.map(([weight = 0]) => Array.from({ length: scores }, () => weight * factor)),
    inputs: ["input_ids", "attention_mask", "token_type_ids"],
    output: ["logits", ["batch", scores]],
  });
}

interface Graph {
  readonly nodes: readonly number[][];
  readonly table: readonly (readonly number[])[];
  readonly inputs: readonly string[];
  readonly output: readonly [name: string, shape: readonly (string | number)[]];
}

function modelOf({ nodes, table, inputs, output }: Graph): Uint8Array<ArrayBuffer> {
  const floats = new Uint8Array(Float32Array.from(table.flat()).buffer);
  const tensor = [
    ...number(1, table.length),
    ...number(1, table[0]?.length ?? 0),
    ...number(2, 1),
    ...text(8, "table"),
    ...bytes(9, floats),
  ];
  const graph = [
    ...nodes.flatMap((each) => bytes(1, each)),
    ...text(2, "graph"),
    ...bytes(5, tensor),
    // 7 is int64, 1 is float
    ...inputs.flatMap((name) => bytes(11, valueInfo(name, 7, ["batch", "sequence"]))),
    ...bytes(12, valueInfo(output[0], 1, output[1])),
  ];
  return Uint8Array.from([...number(1, 8), ...bytes(8, number(2, 12)), ...bytes(7, graph)]);
}

function node(type: string, inputs: readonly string[], output: string, attributes: readonly number[][] = []) {
  const names = [...inputs.flatMap((name) => text(1, name)), ...text(2, output)];
  return [...names, ...text(4, type), ...attributes.flatMap((each) => bytes(5, each))];
}

function valueInfo(name: string, type: number, shape: readonly (string | number)[]): number[] {
  const dims = shape.flatMap((size) => bytes(1, typeof size === "number" ? number(1, size) : text(2, size)));
  return [...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...bytes(2, dims)]))];
}

function number(field: number, value: number): number[] {
  return [...varint(field << 3), ...varint(value)];
}

function text(field: number, value: string): number[] {
  return bytes(field, new TextEncoder().encode(value));
}

function bytes(field: number, value: ArrayLike<number>): number[] {
  return [...varint(field << 3 | 2), ...varint(value.length), ...Array.from(value)];
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [value % 128 | 128, ...varint(Math.floor(value / 128))];
}
