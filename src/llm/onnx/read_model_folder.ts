import { basename, dirname, join } from "node:path";
import { type Pooling, poolings } from "../provider_kinds.ts";
import { listOf, mapOf, valueAt } from "../../core/yaml/value_tree.ts";

/** A model as the configuration names it; what it leaves out the folder's files say. */
export interface ModelSettings {
  /** The folder, or its file `*.onnx` where it has several. */
  readonly path: string;
  /** `rerank`: a cross-encoder, which scores pairs of texts. */
  readonly task: "embedding" | "rerank";
  readonly pooling?: Pooling | undefined;
  /** Put before questions. */
  readonly queryPrefix?: string | undefined;
  /** Put before documents. */
  readonly passagePrefix?: string | undefined;
}

/** What the files of a model say, in the layout of sentence-transformers. */
export interface ModelFolder {
  readonly modelFile: string;
  readonly tokenizerFile: string;
  /** As in `tokenizer.json` and `tokenizer_config.json`. */
  readonly tokenizer: object;
  readonly tokenizerConfig: object;
  /** Of one input, special tokens included. */
  readonly maxTokens: number;
  readonly normalizes: boolean;
  readonly prefixes: Readonly<Record<"query" | "document", string>>;
  /** @throws {TypeError} where the files say none, or one that is not known */
  pooling(): Pooling;
}

/** What is longer is cut: the memory that a model needs grows with the square of the length. */
const mostTokens = 2048;

/** @throws {TypeError} it names the file and what is wrong with it */
export async function readModelFolder(settings: ModelSettings): Promise<ModelFolder> {
  const { folder, modelFile } = await findModel(settings.path);
  const read = (name: string) => readJson(join(folder, name));
  const tokenizerFile = join(folder, "tokenizer.json");
  const tokenizer = await readJson(tokenizerFile);
  if (tokenizer === undefined) throw new TypeError(`there is no file ${tokenizerFile}`);
  const tokenizerConfig = await read("tokenizer_config.json");
  const length = [
    valueAt(await read("sentence_bert_config.json"), ["max_seq_length"]),
    valueAt(tokenizerConfig, ["model_max_length"]),
    valueAt(await read("config.json"), ["max_position_embeddings"]),
    // some write a number without end
  ].find((value) => typeof value === "number" && value >= 8 && value < 1e6);
  const modules = await read("modules.json");
  const types = listOf(modules).map((each) => String(valueAt(each, ["type"])).split(".").at(-1) ?? "");
  const prompts = mapOf(valueAt(await read("config_sentence_transformers.json"), ["prompts"]));
  const pools = mapOf(await read("1_Pooling/config.json"));
  const textOf = (value: unknown) => typeof value === "string" ? value : undefined;
  return {
    modelFile,
    tokenizerFile,
    tokenizer: mapOf(tokenizer),
    tokenizerConfig: mapOf(tokenizerConfig),
    maxTokens: Math.min(Number(length ?? 512), mostTokens),
    normalizes: modules === undefined || types.includes("Normalize"),
    prefixes: {
      query: settings.queryPrefix ?? textOf(prompts["query"]) ?? "",
      document: settings.passagePrefix ?? textOf(prompts["document"] ?? prompts["passage"]) ?? "",
    },
    pooling() {
      const other = types.find((type) => !["Transformer", "Pooling", "Normalize"].includes(type));
      if (other !== undefined) throw new TypeError(`modules.json names ${other}, which Postern cannot run`);
      return settings.pooling ?? poolingOf(pools);
    },
  };
}

function poolingOf(config: Readonly<Record<string, unknown>>): Pooling {
  const [found, ...others] = Object.entries(config).flatMap(([key, value]) =>
    key === "pooling_mode"
      ? [String(value)]
      : key.startsWith("pooling_mode_") && value === true
      ? [key.slice("pooling_mode_".length).replace(/_tokens?$/, "")]
      : []
  );
  if (found === undefined) throw new TypeError("1_Pooling/config.json names no pooling: set pooling");
  const known = poolings.find((pooling) => pooling === found);
  if (known !== undefined && others.length === 0 && config["include_prompt"] !== false) return known;
  const named = [found, ...others].join(" and ");
  throw new TypeError(
    `1_Pooling/config.json wants pooling by ${named}; Postern has ${poolings.join(", ")}, prompts included`,
  );
}

/** The folder of a model that is named by it, or by a file in it or in its folder `onnx`. */
export function modelFolderOf(path: string): string {
  if (!path.endsWith(".onnx")) return path;
  const folder = dirname(path);
  return basename(folder) === "onnx" ? dirname(folder) : folder;
}

async function findModel(path: string): Promise<{ folder: string; modelFile: string }> {
  if (path.endsWith(".onnx")) return { folder: modelFolderOf(path), modelFile: path };
  const found: string[] = [];
  for (const folder of [join(path, "onnx"), path]) {
    try {
      for await (const { name } of Deno.readDir(folder)) {
        if (/^model.*\.onnx$/.test(name)) found.push(join(folder, name));
      }
    } catch (error) {
      if (folder === path) throw new TypeError(`cannot read the folder ${path}`, { cause: error });
    }
  }
  const [only, ...others] = found.toSorted();
  const modelFile = others.length === 0 ? only : found.find((file) => basename(file) === "model.onnx");
  if (modelFile !== undefined) return { folder: path, modelFile };
  throw new TypeError(
    only === undefined
      ? `there is no onnx/model.onnx in ${path}`
      : `there are several models: set model_path to one of ${found.toSorted().join(", ")}`,
  );
}

/** Undefined where there is no such file. */
async function readJson(path: string): Promise<unknown> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new TypeError(`cannot read ${path}`, { cause: error });
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError(`${path} is no JSON`);
  }
}

const modelName = "all-MiniLM-L6-v2";

/** The model that `-pull` knows by its name, and that the demo uses: English, Apache 2.0. */
export const knownModel = {
  name: modelName,
  /** Where `-pull` puts it, in the folder that it runs in, and where the demo looks for it. */
  folder: join("models", modelName),
  /** Where https://huggingface.co and its mirrors have its files. */
  address: `sentence-transformers/${modelName}/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41`,
  /** With their SHA-256. */
  files: {
    "onnx/model.onnx": "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
  },
};
