import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import { createOnnxModels } from "../../../src/llm/onnx/onnx_models.ts";
import type { ModelSettings } from "../../../src/llm/onnx/read_model_folder.ts";
import {
  createModelFolder,
  embeddingFiles,
  embeddingGraph,
  type ModelFiles,
} from "../../support/onnx_model.ts";

const { signal } = new AbortController();

async function openEmbedding(
  files: ModelFiles,
  settings: Partial<ModelSettings> = {},
  requestTimeoutMs = 0,
) {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(await createModelFolder({ ...embeddingFiles, ...files }));
  const models = createOnnxModels({ libraryPath: undefined, logger: silentLogger });
  const onnx = opening.use(await models.open({ path, task: "embedding", ...settings }));
  const provider = createEmbeddingProvider({
    kind: "onnx",
    model: "tiny",
    onnx,
    apiKey: () => undefined,
    requestTimeoutMs,
    perAttemptTimeoutMs: 0,
    logger: silentLogger,
  });
  const stack = opening.move();
  return {
    onnx,
    provider,
    async embed(texts: readonly string[], purpose: "query" | "document" = "document") {
      const { vectors } = await provider.embed({ texts, purpose, signal });
      return vectors.map((vector) => Array.from(vector, (value) => Number(value.toFixed(4))));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a vector is the mean of those of a text's tokens, whatever stands beside it in a batch", async () => {
  await using model = await openEmbedding({});
  assert.deepEqual(await model.embed(["red red", "red green blue a a a", "blue"]), [
    [2, 0, 0.5],
    [0.5, 0.5, 0.75],
    [0, 0, 2],
  ]);
  assert.deepEqual(await model.embed([]), []);
});

Deno.test("texts of any number and length come back in their order", async () => {
  await using model = await openEmbedding({});
  const texts = Array.from(
    { length: 50 },
    (_, at) => `${"a ".repeat(at * 37 % 50)}${at % 2 === 0 ? "red" : "green"}`,
  );
  const { vectors, usage } = await model.provider.embed({ texts, purpose: "document", signal });
  assert.deepEqual(vectors.map(([red = 0, green = 0]) => red > green), texts.map((_, at) => at % 2 === 0));
  assert.equal(usage.promptTokens, texts.reduce((sum, text) => sum + text.split(" ").length + 2, 0));
});

Deno.test("pooling is as 1_Pooling says, and normalising as modules.json", async () => {
  const cases = [
    [{ "1_Pooling/config.json": { pooling_mode_cls_token: true } }, {}, [0, 0, 1]],
    [{ "1_Pooling/config.json": { pooling_mode_max_tokens: true } }, {}, [4, 4, 1]],
    [{ "1_Pooling/config.json": { pooling_mode: "max" } }, {}, [4, 4, 1]],
    // what the configuration says counts first
    [{ "1_Pooling/config.json": undefined }, { pooling: "cls" }, [0, 0, 1]],
    [{}, {}, [1, 1, 0.5]],
    [{ "modules.json": [{ type: "a.Transformer" }, { type: "a.Normalize" }] }, {}, [0.6667, 0.6667, 0.3333]],
    [{ "modules.json": undefined }, {}, [0.6667, 0.6667, 0.3333]],
    // a graph that pools by itself
    [{ "onnx/model.onnx": embeddingGraph("sentence_embedding") }, {}, [0, 0, 1]],
  ] as const;
  for (const [files, settings, expected] of cases) {
    await using model = await openEmbedding(files, settings);
    const [vector = []] = await model.embed(["red green"]);
    assert.deepEqual(vector.slice(0, 3), expected, JSON.stringify(files).slice(0, 100));
  }
});

Deno.test("questions and documents get the model's prefixes, or those of the configuration", async () => {
  const prompts = { prompts: { query: "query: ", passage: "blue " } };
  await using ofFiles = await openEmbedding({ "config_sentence_transformers.json": prompts });
  assert.deepEqual(await ofFiles.embed(["red"], "query"), [[1.2, 0.4, 0.4]]);
  assert.deepEqual(await ofFiles.embed(["red"], "document"), [[1, 0, 1.5]]);
  await using ofSettings = await openEmbedding(
    { "config_sentence_transformers.json": prompts },
    { queryPrefix: "", passagePrefix: "green " },
  );
  assert.deepEqual(await ofSettings.embed(["red"], "query"), [[1.3333, 0, 0.6667]]);
  assert.deepEqual(await ofSettings.embed(["red"], "document"), [[1, 1, 0.5]]);
});

Deno.test("a text is cut at the model's length, and keeps its last special token", async () => {
  for (
    const files of [
      { "sentence_bert_config.json": { max_seq_length: 8 } },
      { "tokenizer_config.json": { pad_token: "[PAD]", model_max_length: 8 } },
      { "tokenizer_config.json": { model_max_length: 1e30 }, "config.json": { max_position_embeddings: 8 } },
    ]
  ) {
    await using model = await openEmbedding(files);
    assert.deepEqual(await model.embed(["red ".repeat(100_000)]), [[3, 0, 0.25]]);
  }
});

Deno.test("a model that several use is loaded once, and a caller who leaves does not wait", async () => {
  await using folder = await createModelFolder(embeddingFiles);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const models = createOnnxModels({ libraryPath: undefined, logger });
  const settings = { path: folder.path, task: "embedding" } as const;
  await using first = await models.open(settings);
  {
    await using second = await models.open(settings);
    await second.run({ kind: "embed", texts: ["red"], purpose: "query" }, signal);
  }
  // each load says that WebAssembly runs it
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /library is not there.*npm install.*onnxruntime-node/);
  const leaving = AbortSignal.abort(new Error("left"));
  const request = { kind: "embed", texts: ["red"], purpose: "query" } as const;
  await assert.rejects(first.run(request, leaving), /left/);
  const { rows } = await first.run(request, signal);
  assert.equal(rows.length, 1);
});

Deno.test("a library that cannot be loaded is told, and WebAssembly runs the model", async () => {
  await using folder = await createModelFolder({
    ...embeddingFiles,
    "onnxruntime_binding.node": "no library",
  });
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  await using model = await createOnnxModels({ libraryPath: folder.path, logger })
    .open({ path: folder.path, task: "embedding" });
  const { rows } = await model.run({ kind: "embed", texts: ["red"], purpose: "query" }, signal);
  assert.equal(rows[0]?.length, 3);
  assert.match(warnings.join(), /library in .* cannot be loaded: .*WebAssembly on one thread/);
});

Deno.test("a request that takes longer than request_timeout fails, and the next one does not", async () => {
  await using model = await openEmbedding({}, {}, 1);
  const texts = Array.from({ length: 2_000 }, () => "red ".repeat(500));
  await assert.rejects(model.provider.embed({ texts, purpose: "document", signal }), { kind: "timeout" });
  const { rows } = await model.onnx.run({ kind: "embed", texts: ["red"], purpose: "document" }, signal);
  assert.equal(rows.length, 1);
});

Deno.test("more requests than may wait are refused", async () => {
  await using model = await openEmbedding({});
  const request = { texts: ["red"], purpose: "query", signal } as const;
  const settled = await Promise.allSettled(
    Array.from({ length: 1_010 }, () => model.provider.embed(request)),
  );
  const refused = settled.filter(({ status }) => status === "rejected");
  assert.ok(refused.length > 0 && refused.length < 100, String(refused.length));
});

const minilm = Deno.env.get("MINILM");

Deno.test({
  name: "all-MiniLM-L6-v2 finds a cat near a kitten, and far from markets",
  ignore: minilm === undefined,
  async fn() {
    const models = createOnnxModels({ libraryPath: Deno.env.get("ONNXRUNTIME_NODE"), logger: silentLogger });
    await using model = await models.open({ path: minilm ?? "", task: "embedding" });
    const texts = ["a cat sat", "a kitten was sitting", "stock markets fell"];
    const { rows: [cat, kitten, markets] } = await model.run(
      { kind: "embed", texts, purpose: "document" },
      signal,
    );
    const nearness = (other: Float32Array | undefined) =>
      cat?.reduce((sum, value, at) => sum + value * (other?.[at] ?? 0), 0) ?? 0;
    assert.equal(cat?.length, 384);
    // sentence-transformers has 0.698 and 0.075; with 8 bits it depends on the batch
    assert.ok(Math.abs(nearness(kitten) - 0.69) < 0.03, String(nearness(kitten)));
    assert.ok(Math.abs(nearness(markets) - 0.1) < 0.04, String(nearness(markets)));
  },
});
