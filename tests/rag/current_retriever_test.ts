import assert from "node:assert/strict";
import { AppError } from "../../src/core/app_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { createCurrentRetriever } from "../../src/rag/current_retriever.ts";
import type { Retriever, RetrieveRequest } from "../../src/rag/retrieve.ts";

const { signal } = new AbortController();
const request: RetrieveRequest = {
  question: "?",
  embedding: new Float32Array(1),
  limit: 1,
  hybrid: true,
  signal,
};

/** Retrievers that are numbered in the order in which they were opened. */
function numbered(outcomes: readonly ("works" | "fails" | "breaks")[]) {
  let opened = 0;
  const clock = { now: 0 };
  const current = createCurrentRetriever({
    pipeline: "docs",
    open() {
      const outcome = outcomes[Math.min(opened, outcomes.length - 1)];
      const number = ++opened;
      if (outcome === "fails") return Promise.reject(new AppError("unavailable", "Cannot connect"));
      const retriever: Retriever = {
        checkFilter() {},
        retrieve: () =>
          outcome === "breaks"
            ? Promise.reject(new AppError("upstream", "Cannot search"))
            : Promise.resolve([{ table: "t", content: String(number), score: 1 }]),
      };
      return Promise.resolve(retriever);
    },
    now: () => clock.now,
    logger: silentLogger,
  });
  const ask = async () => (await (await current(signal)).retrieve(request))[0]?.content;
  return { clock, ask, opened: () => opened };
}

Deno.test("a pipeline's tables are looked at once for many queries", async () => {
  const { ask, opened } = numbered(["works"]);
  assert.deepEqual([await ask(), await ask(), opened()], ["1", "1", 1]);
});

Deno.test("a database that was down at the first query is used once it is back", async () => {
  const { ask } = numbered(["fails", "works"]);
  await assert.rejects(ask(), { code: "unavailable" });
  assert.equal(await ask(), "2");
});

Deno.test("after a minute the tables are looked at in the background", async () => {
  const { ask, clock } = numbered(["works"]);
  await ask();
  clock.now = 60_000;
  assert.equal(await ask(), "1");
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(await ask(), "2");
});

Deno.test("a look that fails in the background leaves the old one in use", async () => {
  const { ask, clock } = numbered(["works", "fails"]);
  await ask();
  clock.now = 60_000;
  await ask();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(await ask(), "1");
});

Deno.test("a search that the database refuses has the tables looked at again", async () => {
  const { ask } = numbered(["breaks", "works"]);
  await assert.rejects(ask(), { code: "upstream" });
  assert.equal(await ask(), "2");
});
