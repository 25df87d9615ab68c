import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../src/core/logger.ts";
import { noUsage, type RerankProvider } from "../../src/llm/provider.ts";
import { ProviderError } from "../../src/llm/provider_error.ts";
import { rerankDocuments } from "../../src/rag_server/pipeline.ts";

const documents = ["a", "b", "c"].map((content, at) => ({ content, score: 1 - at / 10 }));
const { signal } = new AbortController();

function reranker(rerank: RerankProvider["rerank"]): RerankProvider {
  return { name: "voyage/rerank-2", ping: () => Promise.resolve(), rerank };
}

Deno.test("rerankDocuments() puts the best first with the reranker's scores, and keeps topK", async () => {
  const results = [{ index: 2, score: 0.9 }, { index: 0, score: 0.2 }, { index: 1, score: 0.1 }];
  const provider = reranker(() => Promise.resolve({ results, usage: { ...noUsage, promptTokens: 12 } }));
  const reranked = await rerankDocuments(provider, {
    question: "c?",
    documents,
    topK: 2,
    signal,
    logger: silentLogger,
  });
  assert.deepEqual(reranked.documents, [{ content: "c", score: 0.9 }, { content: "a", score: 0.2 }]);
  assert.equal(reranked.usage.promptTokens, 12);
});

Deno.test("rerankDocuments() keeps the search's order where the reranker fails, and says so in the log", async () => {
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "json", write: (line) => lines.push(line) });
  const provider = reranker(() => Promise.reject(new ProviderError("unreachable", "no route")));
  const reranked = await rerankDocuments(provider, { question: "c?", documents, topK: 2, signal, logger });
  assert.deepEqual(reranked.documents, documents.slice(0, 2));
  assert.match(lines.join(""), /Reranking failed.*voyage\/rerank-2.*no route/);
});

Deno.test("rerankDocuments() passes on what is no provider's fault", async () => {
  const provider = reranker(() => Promise.reject(new DOMException("gone", "AbortError")));
  await assert.rejects(
    rerankDocuments(provider, { question: "c?", documents, topK: 2, signal, logger: silentLogger }),
    { name: "AbortError" },
  );
});
