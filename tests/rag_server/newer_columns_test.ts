import assert from "node:assert/strict";
import { AppError } from "../../src/core/app_error.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { createCurrentRetriever } from "../../src/rag_server/search/current_retriever.ts";
import { openSearchedTable } from "../../src/rag_server/search/searched_table.ts";
import type { Filter } from "../../src/rag_server/query.ts";
import { createRetriever, type Retriever } from "../../src/rag_server/search/retriever.ts";
import { noDocuments } from "./no_documents.ts";
import { testWithPgvector } from "../support/database.ts";
import { createSearchFixture } from "./search_fixture.ts";

const { signal } = new AbortController();
const filterOn = (column: string): Filter => ({
  conditions: [{ column, operator: "=", value: "x" }],
  logic: "AND",
});

/** Retrievers over a table that has the columns which `columns` holds at the time of each look. */
function changing({ columns, look }: { columns: string[]; look?: () => Promise<void> }) {
  const clock = { now: 0 };
  let looks = 0;
  const current = createCurrentRetriever({
    pipeline: "docs",
    async open() {
      looks++;
      if (looks > 1) await look?.();
      const seen = [...columns];
      const retriever: Retriever = {
        documents: noDocuments,
        checkFilter({ conditions: [condition] }) {
          const isKnown = seen.includes(condition?.column ?? "");
          return isKnown ? Promise.resolve() : Promise.reject(new AppError("invalid", "no such column"));
        },
        retrieve: () => Promise.resolve([{ table: "t", content: seen.join(), score: 1 }]),
      };
      return retriever;
    },
    now: () => clock.now,
    logger: silentLogger,
  });
  async function ask(column: string) {
    const retriever = await current(signal);
    await retriever.checkFilter(filterOn(column), { signal });
    const request = { question: "?", embedding: new Float32Array(1), limit: 1, hybrid: true, signal };
    return (await retriever.retrieve(request))[0]?.content;
  }
  return { clock, columns, ask, looks: () => looks };
}

Deno.test("a filter on a column that is newer than the last look has the tables looked at again", async () => {
  const { clock, columns, ask, looks } = changing({ columns: ["a"] });
  assert.equal(await ask("a"), "a");
  columns.push("b");
  clock.now = 5_000;
  assert.deepEqual(await Promise.all([ask("b"), ask("b"), ask("a")]), ["a,b", "a,b", "a"]);
  assert.equal(looks(), 2);
});

Deno.test("who invents columns does not have the tables looked at each time", async () => {
  const { clock, ask, looks } = changing({ columns: ["a"] });
  await ask("a");
  const refusal = { code: "invalid", message: "no such column" };
  for (const [now, count] of [[4_999, 1], [5_000, 2], [9_999, 2], [10_000, 3]] as const) {
    clock.now = now;
    await assert.rejects(ask("b"), refusal);
    assert.equal(looks(), count, String(now));
  }
});

Deno.test("a filter is refused by the last look where a new one fails", async () => {
  const { clock, ask, looks } = changing({
    columns: ["a"],
    look: () => Promise.reject(new AppError("unavailable", "Cannot connect")),
  });
  await ask("a");
  clock.now = 5_000;
  await assert.rejects(ask("b"), { code: "invalid" });
  assert.deepEqual([await ask("a"), looks()], ["a", 2]);
});

testWithPgvector("the first filter on a column that was added is answered", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(1)); INSERT INTO docs VALUES (7, 'red', '[1]')`);
  const { admin, database } = fixture;
  const settings = { table: "docs", textColumn: "body", vectorColumn: "embedding" };
  let now = 0;
  const current = createCurrentRetriever({
    pipeline: "docs",
    open: async (signal) =>
      createRetriever({
        database,
        tables: [await openSearchedTable(database, settings, signal)],
        search: { hybridEnabled: true, vectorWeight: 0.5 },
        logger: silentLogger,
      }),
    now: () => now,
    logger: silentLogger,
  });
  async function ask() {
    const retriever = await current(signal);
    const filter = filterOn("product");
    await retriever.checkFilter(filter, { signal });
    const embedding = new Float32Array([1]);
    const found = await retriever.retrieve({
      question: "red",
      embedding,
      limit: 1,
      hybrid: true,
      filter,
      signal,
    });
    return found.map(({ id }) => id);
  }
  await assert.rejects(ask(), { code: "invalid", message: /there is no column "product"/ });
  await admin.query("ALTER TABLE docs ADD product text DEFAULT 'x'");
  now = 5_000;
  assert.deepEqual(await ask(), ["7"]);
});
