import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";

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

      const line = (await Deno.readTextFile(`${rag.folder.path}/audit.jsonl`)).trimEnd();
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

for (const required of [false, true]) {
  testWithPgvectorServer(`SIGKILL loses no answered question, required: ${required}`, async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "25 days." });
    await using rag = await startRagServer({
      pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
      audit: { file: "audit.jsonl", required },
    });
    const ask = (body: unknown, pipeline = "handbook") =>
      fetch(`${rag.process.url}/v1/pipelines/${pipeline}`, { method: "POST", body: JSON.stringify(body) });
    const query = "How many days of holiday are there?";
    const asked = [
      { name: "handbook", body: { query }, result: "ok" },
      { name: "handbook", body: { query, stream: true }, result: "ok" },
      { name: "handbook", body: { query: 7 }, result: "invalid_request" },
      {
        name: "handbook",
        body: { query, filter: { column: "none", op: "=", value: 1 } },
        result: "invalid_request",
      },
      { name: "nothing", body: { query }, result: "pipeline_not_found" },
    ];
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        asked.slice(0, 2).map(async ({ name, body }) => await (await ask(body, name)).text()),
      );
    }
    const expected = Array.from({ length: 6 }, () => ["handbook", "ok"]);
    for (const { name, body, result } of asked) {
      const text = await (await ask(body, name)).text();
      expected.push([name, result]);
      const lines = (await Deno.readTextFile(`${rag.folder.path}/audit.jsonl`)).split("\n").length - 1;
      assert.equal(lines, expected.length, `${JSON.stringify(body)}: ${text}`);
    }
    // the last event of a stream is the last that is read
    const reader = (await ask({ query, stream: true })).body?.getReader() ?? assert.fail();
    let text = "";
    while (!text.includes('"type":"done"')) text += new TextDecoder().decode((await reader.read()).value);
    await rag.process.kill("SIGKILL");
    expected.push(["handbook", "ok"]);
    const trail = await Deno.readTextFile(`${rag.folder.path}/audit.jsonl`);
    const lines = trail.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map((line) => [line.pipeline, line.outcome]), expected);
    await reader.cancel().catch(() => {});
  });
}

testWithPgvectorServer(
  "with audit.required, no question is answered while the trail cannot be written",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "25 days." });
    await using rag = await startRagServer({
      pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
      audit: { file: "audit.jsonl", required: true },
    });
    const query = "How many days of holiday are there?";
    {
      using head = await Deno.open(`${rag.folder.path}/audit.jsonl.head`, { read: true, write: true });
      await head.lock(true);
      const events = await Array.fromAsync(await rag.client.open("handbook", { query }));
      assert.deepEqual(events.at(-1), {
        type: "error",
        error: "the server has no room for the request now; retry later",
      });
      for (const stream of [false, true]) {
        const { status, headers, body } = await rag.client.post("handbook", { query, stream });
        assert.deepEqual([status, headers.get("retry-after"), body.error?.code], [503, "1", "OVERLOADED"]);
      }
    }
    for (;;) {
      const { status } = await rag.client.post("handbook", { query });
      if (status === 200) break;
      assert.equal(status, 503);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  },
);
