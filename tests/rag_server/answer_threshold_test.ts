import assert from "node:assert/strict";
import { createLogger } from "../../src/core/logger.ts";
import { localEmbedding } from "../../src/llm/local/local_embedding.ts";
import { type EmbeddingProvider, noUsage } from "../../src/llm/provider.ts";
import { createAnswerThreshold } from "../../src/rag_server/answer_threshold.ts";
import type { RetrievedDocument } from "../../src/rag_server/search/fusion.ts";
import type { Retriever, RetrieveRequest } from "../../src/rag_server/search/retriever.ts";
import { noDocuments } from "./no_documents.ts";

/** A threshold over a table where foreign questions come as near as they are told, one after the other. */
function createFixture(
  least: number | "learned",
  nearest: readonly number[] = [0.1, 0.2, 0.3],
  name = "test",
) {
  const asked: RetrieveRequest[] = [];
  const log: string[] = [];
  let embeddings = 0;
  let clock = 0;
  let fault: Error | undefined;
  let served = name;
  const retriever: Retriever = {
    documents: noDocuments,
    checkFilter: () => assert.fail("no filter"),
    async retrieve(request) {
      if (typeof request.embedding === "function") await request.embedding();
      asked.push(request);
      const similarity = nearest[asked.length % nearest.length] ?? 0;
      return [{ table: "docs", content: "x", score: 1, similarity }];
    },
  };
  const embedding: EmbeddingProvider = {
    get name() {
      return served;
    },
    ping: () => Promise.resolve(),
    embed({ texts }) {
      embeddings++;
      return fault === undefined
        ? Promise.resolve({ vectors: texts.map(() => Float32Array.of(1)), usage: noUsage })
        : Promise.reject(fault);
    },
  };
  const threshold = createAnswerThreshold({
    least,
    embedding: () => embedding,
    now: () => clock,
    logger: createLogger({
      level: "warn",
      format: "json",
      write: (line) => log.push(line),
      now: () => new Date(0),
    }),
  });
  const isMet = (
    similarity: number | undefined,
    {
      content = "Something else",
      question = "Who won the cup?",
      hasHistory = false,
      signal = new AbortController().signal,
    } = {},
  ) => {
    const document: RetrievedDocument = {
      table: "docs",
      content,
      score: 1,
      ...(similarity !== undefined && { similarity }),
    };
    return threshold({ question, documents: [document], hasHistory, retriever, signal });
  };
  return {
    isMet,
    asked,
    log,
    embeddings: () => embeddings,
    pass: (ms: number) => void (clock += ms),
    serve: (model: string) => void (served = model),
    fail: (thrown: Error | undefined) => void (fault = thrown),
  };
}

Deno.test("a configured threshold holds for the nearest document, whatever its words", async () => {
  const { isMet, embeddings } = createFixture(0.4);
  assert.equal(await isMet(0.39, { content: "Who won the cup?", hasHistory: true }), false);
  assert.equal(await isMet(0.4), true);
  assert.equal(await isMet(undefined), true);
  assert.equal(await createFixture(0).isMet(-1), true);
  assert.equal(embeddings(), 0);
});

Deno.test("a learned threshold lies above what foreign questions come near, and is learned once an hour", async () => {
  // the median of the foreign ones is 0.2, that of their distances from it 0.1
  const { isMet, asked, embeddings, pass } = createFixture("learned");
  assert.deepEqual(await Promise.all([isMet(0.49), isMet(0.5)]), [false, true]);
  assert.deepEqual([asked.length, embeddings()], [18, 1]);
  assert.ok(
    asked.every(({ hybrid, limit, minSimilarity, caller }) =>
      !hybrid && limit === 1 && minSimilarity === -1 && caller === undefined
    ),
  );
  pass(60 * 60_000 - 1);
  assert.equal(await isMet(0.49), false);
  assert.equal(embeddings(), 1);
  pass(1);
  assert.equal(await isMet(0.49), false);
  assert.equal(embeddings(), 2);
});

Deno.test("a learned threshold is of a model: with another one it is learned again", async () => {
  const { isMet, embeddings, serve } = createFixture("learned");
  assert.equal(await isMet(0.49), false);
  serve("test/next");
  assert.equal(await isMet(0.49), false);
  assert.equal(embeddings(), 2);
});

Deno.test("a few foreign questions that the documents answer do not raise it", async () => {
  const { isMet } = createFixture("learned", [0.9, 0.2, 0.2, 0.2, 0.2, 0.2]);
  assert.deepEqual([await isMet(0.19), await isMet(0.21)], [false, true]);
});

Deno.test("half of the question's words, or earlier messages, need no learned threshold", async () => {
  const { isMet, embeddings } = createFixture("learned");
  assert.equal(await isMet(0, { question: "price of XJ-9000", content: "The XJ-9000 is blue" }), true);
  assert.equal(await isMet(0, { hasHistory: true }), true);
  assert.equal(await isMet(0, { question: "what is this?" }), true);
  assert.equal(embeddings(), 0);
  assert.equal(await isMet(0, { question: "price of blue whales", content: "Blue" }), false);
});

Deno.test("where vectors know letters alone, a quarter of the words is enough", async () => {
  const { isMet } = createFixture("learned", undefined, localEmbedding().name);
  assert.equal(await isMet(0, { question: "price of big blue whales", content: "Blue" }), true);
  assert.equal(await isMet(0, { question: "price of five big blue whales", content: "Blue" }), false);
});

Deno.test("where it cannot be learned all is near enough, which the log says, and it is tried again", async () => {
  const { isMet, fail, pass, log, embeddings } = createFixture("learned");
  fail(new Error("down"));
  assert.equal(await isMet(0), true);
  assert.equal(await isMet(0), true);
  assert.equal(embeddings(), 1);
  assert.match(log.join(), /Cannot learn how near documents must be to answer.*down/);
  fail(undefined);
  pass(60_000);
  assert.equal(await isMet(0), false);
});

Deno.test("a caller who leaves does not end what others learn", async () => {
  const { isMet } = createFixture("learned");
  const gone = new AbortController();
  const left = isMet(0, { signal: gone.signal });
  const stays = isMet(0);
  gone.abort(new Error("left"));
  await assert.rejects(left, { message: "left" });
  assert.equal(await stays, false);
});
