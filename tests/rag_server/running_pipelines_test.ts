import assert from "node:assert/strict";
import { untilAborted } from "../../src/core/async/abort.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Pipeline } from "../../src/rag_server/pipeline.ts";
import type { PipelineQuery } from "../../src/rag_server/query.ts";
import { createRunningPipelines, type PipelineSet } from "../../src/rag_server/running_pipelines.ts";
import { script, scriptedPipeline, scriptedPipelines } from "./api/scripted_pipelines.ts";

const query: PipelineQuery = {
  query: "?",
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
    ...scriptedPipeline({ name: "docs", script: script() }),
    async answer() {
      await gate.promise;
      return { answer: "yes", sources: [], tokensUsed: 1 };
    },
    async *stream({ signal }) {
      yield { type: "chunk", content: "y" };
      await untilAborted(gate.promise, signal);
      yield { type: "done", sources: [], tokensUsed: 1 };
    },
  };
  const set: TestSet = {
    ended: false,
    release: gate.resolve,
    list: [pipeline],
    [Symbol.asyncDispose]: () => Promise.resolve(void (set.ended = true)),
  };
  return set;
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("a replaced set ends at once where it answers nothing, else after its last query", async () => {
  const [idle, busy, last] = [createSet(), createSet(), createSet()];
  await using pipelines = createRunningPipelines(idle, { longestQueryMs: 60_000, logger: silentLogger });
  pipelines.replace(busy);
  await tick();
  assert.deepEqual([idle.ended, busy.ended], [true, false]);

  const docs = pipelines.find("docs");
  assert.ok(docs !== undefined);
  const answer = docs.answer(query);
  const stream = docs.stream(query)[Symbol.asyncIterator]();
  assert.deepEqual(await stream.next(), { done: false, value: { type: "chunk", content: "y" } });
  pipelines.replace(last);
  await tick();
  assert.equal(busy.ended, false);
  busy.release();
  assert.equal((await answer).answer, "yes");
  await tick();
  assert.deepEqual([busy.ended, last.ended], [true, false], "the stream has been made, though not read");
  assert.equal((await stream.next()).value?.type, "done");
  assert.equal((await stream.next()).done, true);
});

Deno.test("a stream that its reader leaves is over", async () => {
  const [first, next] = [createSet(), createSet()];
  await using pipelines = createRunningPipelines(first, { longestQueryMs: 60_000, logger: silentLogger });
  const caller = new AbortController();
  for await (const _ of pipelines.find("docs")?.stream({ ...query, signal: caller.signal }) ?? []) {
    pipelines.replace(next);
    await tick();
    assert.equal(first.ended, false);
    caller.abort();
    break;
  }
  await tick();
  assert.equal(first.ended, true);
});

Deno.test("where queries have no longest time, a replaced set ends with the last of them", async () => {
  const [first, next] = [createSet(), createSet()];
  await using pipelines = createRunningPipelines(first, { longestQueryMs: Infinity, logger: silentLogger });
  const answer = pipelines.find("docs")?.answer(query);
  pipelines.replace(next);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(first.ended, false);
  first.release();
  assert.equal((await answer)?.answer, "yes");
  await tick();
  assert.equal(first.ended, true);
});

Deno.test("a replaced set ends in the end whatever it still does, and with the server", async () => {
  const [stuck, next] = [createSet(), createSet()];
  {
    await using pipelines = createRunningPipelines(stuck, { longestQueryMs: 20, logger: silentLogger });
    const answer = pipelines.find("docs")?.answer(query);
    pipelines.replace(next);
    await tick();
    assert.equal(stuck.ended, false);
    while (!stuck.ended) await tick();
    stuck.release();
    await answer;
  }
  assert.equal(next.ended, true);
});

Deno.test("callers of health() at the same time share one round of pings, and the next gets a new one", async () => {
  let pings = 0;
  const pipeline = scriptedPipeline({ name: "one", script: script() });
  const pipelines = scriptedPipelines([{
    ...pipeline,
    health: () => {
      pings++;
      return pipeline.health();
    },
  }]);
  await Promise.all([pipelines.health(), pipelines.health(), pipelines.health()]);
  assert.equal(pings, 1);
  await pipelines.health();
  assert.equal(pings, 2);
});

Deno.test("an address that sends all it can leaves another one its share, and another pipeline alone", async () => {
  const order: string[] = [];
  const slow = {
    ...scriptedPipeline({ name: "slow", script: script() }),
    async answer({ query }: PipelineQuery) {
      await tick();
      order.push(query);
      return { answer: query, sources: [], tokensUsed: 1 };
    },
  };
  const list = [slow, { ...slow, name: "other" }];
  const dispose = () => Promise.resolve();
  await using pipelines = createRunningPipelines({ list, [Symbol.asyncDispose]: dispose }, {
    longestQueryMs: 60_000,
    maxQueries: 1,
    waitBounds: { maxWaiting: 4, maxWaitMs: 60_000 },
    logger: silentLogger,
  });
  const ask = (address: string, name = "slow") => {
    const pipeline = pipelines.find(name);
    assert.ok(pipeline);
    return pipeline.answer({ ...query, query: `${name} ${address}`, caller: { kind: "local", address } });
  };
  const flood = Array.from({ length: 6 }, () => ask("many"));
  const quiet = [ask("one"), ask("one"), ask("many", "other")];
  const results = await Promise.allSettled([...flood, ...quiet]);
  assert.deepEqual(order, [
    "slow many",
    "other many",
    "slow many",
    "slow one",
    "slow many",
    "slow one",
    "slow many",
    "slow many",
  ]);
  const refused = results.filter((result) => result.status === "rejected");
  assert.deepEqual(refused.map(({ reason }) => reason.code), ["overloaded"]);
});
