import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { demoHandbookSql, readHandbook } from "../../src/demo/demo_handbook.ts";
import { localEmbedding } from "../../src/llm/local/local_embedding.ts";
import { type CompletionProvider, noUsage } from "../../src/llm/provider.ts";
import { createUsageLedger } from "../../src/llm/usage.ts";
import { createPipeline } from "../../src/rag_server/pipeline.ts";
import { createRetriever } from "../../src/rag_server/search/retriever.ts";
import { createRetrieverFixture } from "../rag_server/retriever_fixture.ts";
import { testWithPgvector } from "../support/database.ts";
import { handbookDialogues } from "./handbook_dialogues.ts";

/** Answers nothing, and makes of a follow-up what the dialogue says. */
const model: CompletionProvider = {
  name: "test/model",
  ping: () => Promise.resolve(),
  complete: () => Promise.resolve({ text: "yes", usage: noUsage, isCut: false }),
  async *stream({ messages }) {
    const prompt = messages.at(-1)?.content ?? "";
    const dialogue = handbookDialogues.find(({ first, followUp }) =>
      prompt.includes(first) && prompt.includes(followUp)
    );
    await Promise.resolve();
    yield { type: "text", text: dialogue?.rewritten ?? "" };
    yield { type: "end", usage: noUsage, isCut: false };
  },
};

testWithPgvector("a follow-up finds its section of the handbook among the first three", async () => {
  await using fixture = await createRetrieverFixture((await demoHandbookSql()).join(";\n"));
  const retriever = createRetriever({
    database: fixture.database,
    tables: await fixture.open({ table: "handbook_pages", textColumn: "content", idColumn: "id" }),
    search: { hybridEnabled: true, vectorWeight: 0.3 },
    logger: silentLogger,
  });
  const sections = await readHandbook();
  const ledger = createUsageLedger();
  const open = (rewriting?: CompletionProvider) =>
    createPipeline({
      name: "handbook",
      description: "",
      availableToUsers: [],
      retriever: () => Promise.resolve(retriever),
      database: { ping: () => Promise.resolve(), rightsKey: () => "", checkCaller: () => {} },
      embedding: localEmbedding(),
      completion: model,
      rewriting,
      topN: 3,
      tokenBudget: 8_000,
      allowsSources: true,
      usage: { embedding: ledger.counter("embedding"), completion: ledger.counter("completion") },
      logger: silentLogger,
    });
  async function found(pipeline: ReturnType<typeof open>, withConversation: boolean): Promise<number> {
    let hits = 0;
    for (const { first, answer, followUp, page, section } of handbookDialogues) {
      const { sources } = await pipeline.answer({
        query: followUp,
        messages: withConversation
          ? [{ role: "user", content: first }, { role: "assistant", content: answer }]
          : [],
        disableHybrid: false,
        signal: new AbortController().signal,
      });
      const ids = sections.flatMap((each, at) =>
        each.page === page && each.section === section ? `${at + 1}` : []
      );
      assert.equal(ids.length, 1, `${page}, ${section}`);
      if (sources.some(({ id }) => id === ids[0])) hits++;
    }
    return hits;
  }

  assert.equal(handbookDialogues.length, 40);
  const alone = await found(open(), false);
  const withWords = await found(open(), true);
  const rewritten = await found(open(model), true);
  const figures = `alone ${alone}, with the last question's words ${withWords}, rewritten ${rewritten}`;
  // as measured: 25, 39 and 40
  assert.ok(withWords >= 37, figures);
  assert.ok(rewritten >= 39, figures);
  assert.ok(withWords >= alone + 10, figures);
});
