import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { noDocuments } from "../no_documents.ts";
import { createCurrentRetriever } from "../../../src/rag_server/search/current_retriever.ts";
import { RowSecurityError } from "../../../src/rag_server/row_security/proof.ts";
import { openSearchedTable } from "../../../src/rag_server/search/searched_table.ts";
import {
  createRetriever,
  type Retriever,
  type RetrieveRequest,
} from "../../../src/rag_server/search/retriever.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();
const request: RetrieveRequest = {
  question: "?",
  embedding: new Float32Array(1),
  limit: 1,
  hybrid: true,
  signal,
};

/** Retrievers that are numbered in the order in which they were opened. */
function numbered(results: readonly ("works" | "fails" | "breaks" | "changed" | "hangs" | "unproven")[]) {
  let opened = 0;
  const clock = { now: 0 };
  const current = createCurrentRetriever({
    pipeline: "docs",
    open() {
      const result = results[Math.min(opened, results.length - 1)];
      const number = ++opened;
      if (result === "hangs") return new Promise<never>(() => {});
      if (result === "unproven") return Promise.reject(new RowSecurityError("serve", "no policy"));
      if (result === "fails") return Promise.reject(new AppError("unavailable", "Cannot connect"));
      const retriever: Retriever = {
        documents: noDocuments,
        checkFilter: () => Promise.resolve(),
        retrieve: () =>
          result === "breaks" || result === "changed"
            ? Promise.reject(
              new AppError("upstream", "Cannot search", {
                data: { sqlState: result === "changed" ? "42P01" : "XX000" },
              }),
            )
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

Deno.test("tables that row-level security no longer holds answer nothing, until it does again", async () => {
  const { clock, ask } = numbered(["works", "unproven", "unproven", "works"]);
  assert.equal(await ask(), "1");
  clock.now = 60_000;
  await assert.rejects(ask(), RowSecurityError);
  assert.equal(await ask(), "4");
});

Deno.test("a pipeline's tables are looked at once for many queries", async () => {
  const { ask, opened } = numbered(["works"]);
  assert.deepEqual([await ask(), await ask(), opened()], ["1", "1", 1]);
});

Deno.test("a database that was down at the first query is used once it is back", async () => {
  const { ask } = numbered(["fails", "works"]);
  await assert.rejects(ask(), { code: "unavailable" });
  assert.equal(await ask(), "2");
});

Deno.test("after a minute the tables are looked at before the next queries", async () => {
  const { ask, clock, opened } = numbered(["works"]);
  await ask();
  clock.now = 59_999;
  assert.equal(await ask(), "1");
  clock.now = 60_000;
  assert.deepEqual([await Promise.all([ask(), ask()]), opened()], [["2", "2"], 2]);
});

Deno.test("a new look that fails, or takes its time, leaves the old one in use", async () => {
  for (const result of ["fails", "hangs"] as const) {
    const { ask, clock, opened } = numbered(["works", result]);
    await ask();
    clock.now = 60_000;
    assert.deepEqual([await ask(), await ask(), opened()], ["1", "1", 2], result);
  }
});

Deno.test("a search for something that is no longer there is made again after a new look", async () => {
  const { ask, opened } = numbered(["changed", "works"]);
  assert.deepEqual([await Promise.all([ask(), ask()]), opened()], [["2", "2"], 2]);
  const lost = numbered(["changed"]);
  await assert.rejects(lost.ask(), { code: "upstream" });
  assert.equal(lost.opened(), 2);
});

Deno.test("a search that the database refuses has the tables looked at again", async () => {
  const { ask } = numbered(["breaks", "works"]);
  await assert.rejects(ask(), { code: "upstream" });
  assert.equal(await ask(), "2");
});

Deno.test("a provider that fails during a search is no reason to look at the tables again", async () => {
  const error = new ProviderError("provider", "no vector");
  let opened = 0;
  const current = createCurrentRetriever({
    pipeline: "docs",
    open() {
      opened++;
      return Promise.resolve({
        documents: noDocuments,
        checkFilter: () => Promise.resolve(),
        retrieve: () => Promise.reject(error),
      });
    },
    now: () => 0,
    logger: silentLogger,
  });
  for (let query = 0; query < 2; query++) {
    await assert.rejects(async () => await (await current(signal)).retrieve(request), error);
  }
  assert.equal(opened, 1);
});

testWithPgvector("the first query after a column was renamed is answered", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(1)); INSERT INTO docs VALUES (7, 'red', '[1]')`);
  const { admin, database } = fixture;
  const settings = { table: "docs", textColumn: "body", vectorColumn: "embedding" };
  const current = createCurrentRetriever({
    pipeline: "docs",
    open: async (signal) =>
      createRetriever({
        database,
        tables: [await openSearchedTable(database, settings, signal)],
        search: { hybridEnabled: true, vectorWeight: 0.5 },
        logger: silentLogger,
      }),
    now: () => 0,
    logger: silentLogger,
  });
  const ask = async () => (await (await current(signal)).retrieve(request)).map(({ id }) => id);
  assert.deepEqual(await ask(), ["7"]);
  await admin.query("ALTER TABLE docs RENAME id TO number");
  assert.deepEqual(await ask(), ["7"]);
  await admin.query("ALTER TABLE docs RENAME body TO text");
  await assert.rejects(ask(), { code: "upstream", message: /it has no column "body"/ });
});
