import assert from "node:assert/strict";
import { sha256 } from "../../../src/core/sha256.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

for (const texts of [false, true]) {
  testWithPgvector(
    `audit.texts: ${texts}: the trail has a question's sources and tokens, and its words only where it is true`,
    async () => {
      await using database = await createHandbookDatabase();
      await using openai = createVendor("openai", { embed: topicVector });
      await using anthropic = createVendor("anthropic", { answer: "25 days." });
      await using rag = await startRagServer({
        pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
        audit: { file: "audit.jsonl", texts },
      });
      const query = "How many days of holiday are there?";
      const { body } = await rag.client.post("handbook", { query, include_sources: true });
      const ids = body.sources?.map(({ id }) => id) ?? [];
      assert.ok(ids.length > 0 && (body.tokens_used ?? 0) > 0, JSON.stringify(body));

      const trail = () => Deno.readTextFile(`${rag.folder.path}/audit.jsonl`);
      await waitUntil("the trail has the question", async () => (await trail()).includes('"event":"query"'));
      const line = (await trail()).split("\n").find((each) => each.includes('"event":"query"')) ?? "";
      const { outcome, pipeline, sources, tokens_used, question_sha256, question } = JSON.parse(line);
      assert.deepEqual(
        { outcome, pipeline, sources, tokens_used, question_sha256, question },
        {
          outcome: "ok",
          pipeline: "handbook",
          sources: ids,
          tokens_used: body.tokens_used,
          question_sha256: sha256(query),
          question: texts ? query : undefined,
        },
      );
    },
  );
}
