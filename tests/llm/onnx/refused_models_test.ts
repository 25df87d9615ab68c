import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createOnnxModels } from "../../../src/llm/onnx/onnx_models.ts";
import type { ModelSettings } from "../../../src/llm/onnx/read_model_folder.ts";
import {
  createModelFolder,
  embeddingFiles,
  embeddingGraph,
  type ModelFiles,
  rerankFiles,
  rerankGraph,
  tokenizer,
} from "../../support/onnx_model.ts";

const cases: readonly (readonly [string, ModelFiles, ModelSettings["task"], RegExp])[] = [
  [
    "a cross-encoder for embeddings",
    rerankFiles,
    "embedding",
    /it is a cross-encoder.*embeddings need another model/,
  ],
  [
    "a model of embeddings for reranking",
    embeddingFiles,
    "rerank",
    /scores no pairs: reranking needs a cross-encoder/,
  ],
  [
    "a classifier for reranking",
    { ...rerankFiles, "model.onnx": rerankGraph(2) },
    "rerank",
    /2 scores for a pair; reranking needs one/,
  ],
  [
    "no model",
    { ...embeddingFiles, "onnx/model.onnx": undefined },
    "embedding",
    /there is no onnx\/model\.onnx in/,
  ],
  [
    "several models",
    { ...embeddingFiles, "onnx/model.onnx": undefined, "model_a.onnx": "", "model_b.onnx": "" },
    "embedding",
    /several models: set model_path to one of .*model_a\.onnx, .*model_b\.onnx/,
  ],
  [
    "no tokenizer",
    { ...embeddingFiles, "tokenizer.json": undefined },
    "embedding",
    /no file .*tokenizer\.json/,
  ],
  [
    "a tokenizer that is no JSON",
    { ...embeddingFiles, "tokenizer.json": "{" },
    "embedding",
    /tokenizer\.json is no JSON/,
  ],
  [
    "an unknown tokenizer",
    { ...embeddingFiles, "tokenizer.json": { ...tokenizer, model: { type: "Runes", vocab: {} } } },
    "embedding",
    /cannot use .*tokenizer\.json: .*Runes/,
  ],
  [
    "a broken graph",
    { ...embeddingFiles, "onnx/model.onnx": embeddingGraph().slice(0, 60) },
    "embedding",
    /cannot load .*onnx\/model\.onnx/,
  ],
  [
    "an input that is not known",
    { ...embeddingFiles, "onnx/model.onnx": embeddingGraph("last_hidden_state", ["input_ids", "pixels"]) },
    "embedding",
    /an input pixels/,
  ],
  [
    "an output that is not known",
    { ...embeddingFiles, "onnx/model.onnx": embeddingGraph("waves") },
    "embedding",
    /no output last_hidden_state, token_embeddings or sentence_embedding/,
  ],
  [
    "no pooling",
    { ...embeddingFiles, "1_Pooling/config.json": undefined },
    "embedding",
    /names no pooling: set pooling/,
  ],
  [
    "a pooling that is not known",
    { ...embeddingFiles, "1_Pooling/config.json": { pooling_mode_lasttoken: true } },
    "embedding",
    /pooling by lasttoken; Postern has mean, cls, max/,
  ],
  [
    "two poolings",
    {
      ...embeddingFiles,
      "1_Pooling/config.json": { pooling_mode_cls_token: true, pooling_mode_max_tokens: true },
    },
    "embedding",
    /pooling by cls and max/,
  ],
  [
    "pooling without prompts",
    { ...embeddingFiles, "1_Pooling/config.json": { pooling_mode_mean_tokens: true, include_prompt: false } },
    "embedding",
    /prompts included/,
  ],
  [
    "another module",
    { ...embeddingFiles, "modules.json": [{ type: "sentence_transformers.models.Dense" }] },
    "embedding",
    /modules\.json names Dense/,
  ],
];

for (const [name, files, task, expected] of cases) {
  Deno.test(`a model is refused where it is opened: ${name}`, async () => {
    await using folder = await createModelFolder(files);
    const models = createOnnxModels({ libraryPath: undefined, logger: silentLogger });
    await assert.rejects(models.open({ path: folder.path, task }), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, "invalid");
      assert.ok(error.message.startsWith(`Cannot use the model ${folder.path}: `), error.message);
      assert.match(error.message, expected);
      return true;
    });
  });
}

Deno.test("a folder without ONNX Runtime's library is refused where it is configured", async () => {
  await using folder = await createModelFolder(embeddingFiles);
  const models = createOnnxModels({ libraryPath: folder.path, logger: silentLogger });
  await assert.rejects(
    models.open({ path: folder.path, task: "embedding" }),
    /^AppError: models\.library_path: cannot use .*onnxruntime_binding\.node.*npm install/,
  );
});

Deno.test("a model may be named by its file", async () => {
  await using folder = await createModelFolder(embeddingFiles);
  const models = createOnnxModels({ libraryPath: undefined, logger: silentLogger });
  await using model = await models.open({ path: `${folder.path}/onnx/model.onnx`, task: "embedding" });
  const { signal } = new AbortController();
  const { rows } = await model.run({ kind: "embed", texts: ["a"], purpose: "query" }, signal);
  assert.equal(rows.length, 1);
});
