import assert from "node:assert/strict";
import { createCurrentPipelines } from "../../../src/app/rag/current_pipelines.ts";
import type { PipelineSet } from "../../../src/app/rag/pipeline_set.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Pipeline } from "../../../src/rag_server/pipelines.ts";
import type { PipelineQuery } from "../../../src/rag_server/query.ts";

const query: PipelineQuery = {
  query: "?",
  includeSources: false,
  disableHybrid: false,
  messages: [],
  signal: new AbortController().signal,
};

interface TestSet extends PipelineSet {
  ended: boolean;
  /** Lets the answers under way come. */
  readonly release: () => void;
}

function createSet(): TestSet {
  const gate = Promise.withResolvers<void>();
  const pipeline: Pipeline = {
    name: "docs",
    description: "",
    allowsSources: false,
    async answer() {
      await gate.promise;
      return { answer: "yes", sources: [], tokensUsed: 1 };
    },
    async *stream() {
      yield { type: "chunk", content: "y" };
      await gate.promise;
      yield { type: "done", sources: [], tokensUsed: 1 };
    },
  };
  const set: TestSet = {
    ended: false,
    release: gate.resolve,
    list: [],
    pipelines: {
      list: () => [pipeline],
      find: (name) => name === pipeline.name ? pipeline : undefined,
      health: () => Promise.resolve([]),
      stats: () => [],
    },
    [Symbol.asyncDispose]: () => Promise.resolve(void (set.ended = true)),
  };
  return set;
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("a replaced set ends at once where it answers nothing, else after its last query", async () => {
  const [idle, busy, last] = [createSet(), createSet(), createSet()];
  await using pipelines = createCurrentPipelines(idle, { longestQueryMs: 60_000, logger: silentLogger });
  pipelines.replace(busy);
  await turn();
  assert.deepEqual([idle.ended, busy.ended], [true, false]);

  const docs = pipelines.current().find("docs");
  assert.ok(docs !== undefined);
  const answer = docs.answer(query);
  const stream = docs.stream(query)[Symbol.asyncIterator]();
  assert.deepEqual(await stream.next(), { done: false, value: { type: "chunk", content: "y" } });
  pipelines.replace(last);
  await turn();
  assert.equal(busy.ended, false);
  busy.release();
  assert.equal((await answer).answer, "yes");
  await turn();
  assert.equal(busy.ended, false, "the stream goes on");
  while (!(await stream.next()).done);
  await turn();
  assert.deepEqual([busy.ended, last.ended], [true, false]);
});

Deno.test("a stream that its reader leaves is over", async () => {
  const [first, next] = [createSet(), createSet()];
  await using pipelines = createCurrentPipelines(first, { longestQueryMs: 60_000, logger: silentLogger });
  for await (const _ of pipelines.current().find("docs")?.stream(query) ?? []) {
    pipelines.replace(next);
    await turn();
    assert.equal(first.ended, false);
    break;
  }
  await turn();
  assert.equal(first.ended, true);
});

Deno.test("where queries have no longest time, a replaced set ends with the last of them", async () => {
  const [first, next] = [createSet(), createSet()];
  await using pipelines = createCurrentPipelines(first, { longestQueryMs: Infinity, logger: silentLogger });
  const answer = pipelines.current().find("docs")?.answer(query);
  pipelines.replace(next);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(first.ended, false);
  first.release();
  assert.equal((await answer)?.answer, "yes");
  await turn();
  assert.equal(first.ended, true);
});

Deno.test("a replaced set ends in the end whatever it still does, and with the server", async () => {
  const [stuck, next] = [createSet(), createSet()];
  {
    await using pipelines = createCurrentPipelines(stuck, { longestQueryMs: 20, logger: silentLogger });
    const answer = pipelines.current().find("docs")?.answer(query);
    pipelines.replace(next);
    await turn();
    assert.equal(stuck.ended, false);
    while (!stuck.ended) await turn();
    stuck.release();
    await answer;
  }
  assert.equal(next.ended, true);
});
