import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import type { FoundDocuments } from "../../../src/rag_server/pipeline.ts";
import { assertHas } from "../../support/assert_has.ts";
import { createRagFixture } from "./rag_fixture.ts";
import { createHandbook } from "./rag_handbook.ts";
import { hanging, script, scriptedPipeline, scriptedPipelines } from "./scripted_pipelines.ts";

const found: FoundDocuments = {
  sources: [
    {
      key: "1-42",
      id: "42",
      content: "Rotate the logs.",
      score: 0.9,
      title: "Logs",
      table: "docs",
      similarity: 0.62,
      nearest: { rank: 2, score: -0.38 },
      matching: { rank: 1, score: 4.5 },
    },
    { key: "1~0", content: "Öl", score: 0.1, table: "docs", similarity: 0.2 },
  ],
  tokensUsed: 3,
};

// a script that answers would be a model that was asked
const unasked = script(new Error("a model was asked"));

const search = (body: unknown) =>
  ["POST", "/v1/pipelines/handbook/search", { body: JSON.stringify(body) }] as const;

Deno.test("a search tells passages with their places in both searches, and asks no model", async () => {
  const { send, handbook, lines, counted } = createHandbook(unasked, { found });
  const { status, text } = await send(
    ...search({
      query: "logs?",
      top_n: 2,
      min_similarity: 0.1,
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    }),
  );
  assert.deepEqual([status, JSON.parse(text)], [200, {
    passages: [
      {
        id: "42",
        content: "Rotate the logs.",
        score: 0.9,
        metadata: { title: "Logs", characters: { start: 0, end: 16 } },
        table: "docs",
        vector: { rank: 2, similarity: 0.62 },
        keyword: { rank: 1, score: 4.5 },
      },
      { content: "Öl", score: 0.1, metadata: { characters: { start: 0, end: 2 } }, table: "docs" },
    ],
    tokens_used: 3,
  }]);
  const [{ topN, minSimilarity, messages, caller } = assert.fail("not asked")] = handbook.asked;
  assert.deepEqual([topN, minSimilarity, messages], [2, 0.1, [{ role: "user", content: "Hi" }]]);
  assert.equal(caller?.kind, "local");
  assert.deepEqual(counted, ["handbook ok"]);
  assert.equal(lines.length, 1);
  assertHas(lines[0], {
    event: "query",
    method: "search",
    outcome: "ok",
    question: "logs?",
    sources: ["42"],
    tokens_used: 3,
  });
});

Deno.test("a pipeline that does not show its sources is not searched", async () => {
  const { send, handbook, lines, counted } = createHandbook(unasked, { found, allowsSources: false });
  const { status, text } = await send(...search({ query: "q", include_sources: true }));
  assert.deepEqual(
    [status, text],
    [
      403,
      '{"error":{"code":"FORBIDDEN","message":"the pipeline does not show its documents; ask it a question"}}',
    ],
  );
  assert.deepEqual([handbook.asked, counted], [[], ["handbook forbidden"]]);
  assert.deepEqual(lines.map((line) => line.outcome), ["forbidden"]);
});

Deno.test("a search is refused as a question is", async () => {
  const { send, handbook } = createHandbook(unasked, { found });
  const faulty = await send(...search({ query: "q", top_n: 0 }));
  assert.deepEqual([faulty.status, JSON.parse(faulty.text).error.message], [
    400,
    "top_n: expected an integer from 1 to 100",
  ]);
  const got = await send("GET", "/v1/pipelines/handbook/search");
  assert.deepEqual([got.status, got.headers.get("allow")], [405, "POST"]);
  const other = await send("POST", "/v1/pipelines/other/search", { body: '{"query":"q"}' });
  assert.equal(JSON.parse(other.text).error.code, "PIPELINE_NOT_FOUND");
  assert.deepEqual(handbook.asked, []);
});

Deno.test("a search ends with an error of its own, and at its time", async () => {
  const failing = { ...scriptedPipeline({ name: "handbook", script: unasked }) };
  failing.findDocuments = () => Promise.reject(new AppError("invalid", "filter: expected less"));
  const fixture = createRagFixture({ pipelines: scriptedPipelines([failing]) });
  const { status, text } = await fixture.send(...search({ query: "q" }));
  assert.deepEqual([status, JSON.parse(text).error.message], [400, "filter: expected less"]);

  const { script: wait } = hanging();
  const slow = { ...scriptedPipeline({ name: "handbook", script: unasked }) };
  slow.findDocuments = async (query) => {
    for await (const _ of wait(query));
    return found;
  };
  const timed = createRagFixture({ pipelines: scriptedPipelines([slow]), requestTimeoutMs: 10 });
  assert.equal((await timed.send(...search({ query: "q" }))).status, 504);
});
