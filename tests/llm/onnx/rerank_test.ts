import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createRerankProvider } from "../../../src/llm/create_provider.ts";
import { createOnnxModels } from "../../../src/llm/onnx/onnx_models.ts";
import { createModelFolder, rerankFiles } from "../../support/onnx_model.ts";

const { signal } = new AbortController();

Deno.test("a cross-encoder orders documents by its scores of them with the question, the first 50 at most", async () => {
  await using folder = await createModelFolder(rerankFiles);
  const models = createOnnxModels({ libraryPath: undefined, logger: silentLogger });
  await using onnx = await models.open({ path: folder.path, task: "rerank" });
  const provider = createRerankProvider({
    kind: "onnx",
    model: "tiny",
    onnx,
    apiKey: () => undefined,
    requestTimeoutMs: 10_000,
    perAttemptTimeoutMs: 0,
    logger: silentLogger,
  });
  const { results, usage } = await provider.rerank({
    query: "a",
    documents: ["blue", "a a", "red", "green"],
    signal,
  });
  assert.deepEqual(results.map(({ index }) => index), [2, 3, 0, 1]);
  // the sigmoid of 3, 2, 1 and 0
  assert.deepEqual(results.map(({ score }) => score.toFixed(3)), ["0.953", "0.881", "0.731", "0.500"]);
  // two more a pair, and one for its end
  assert.equal(usage.promptTokens, 4 * 4 + 5);

  const documents = Array.from({ length: 60 }, (_, at) => at === 49 ? "green" : at === 50 ? "red" : "a");
  const deep = await provider.rerank({ query: "a", documents, signal });
  assert.deepEqual(deep.results.map(({ index }) => index).slice(0, 3), [49, 0, 1]);
  assert.deepEqual(deep.results.slice(-2), [{ index: 58, score: 0 }, { index: 59, score: 0 }]);
  assert.equal((await provider.rerank({ query: "a", documents, topK: 5, signal })).results.length, 5);
  // the document is cut, and not the question
  const long = await provider.rerank({ query: "red", documents: ["a ".repeat(5_000)], signal });
  assert.equal(long.usage.promptTokens, 512);
  assert.equal(long.results[0]?.score.toFixed(3), "0.953");
});
