import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { assertHas } from "../../support/assert_has.ts";
import { createCollector, treeOf } from "../../support/collector.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";

const leave = { query: "How many days of annual leave are there?" };
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

testWithPgvector("a question is one trace, from the request to its last event", async () => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: ["One, ", "two."] });
  await using collector = createCollector();
  const pipelines = [handbookPipeline("handbook", { database, openai, anthropic })];
  const traces = { endpoint: collector.url, sample_ratio: 0 };
  await using running = await startRagServer({ pipelines, traces });
  const { process } = running;
  const ask = async (id: string, body: object, headers: Record<string, string> = { traceparent }) => {
    const response = await fetch(`${process.url}/v1/pipelines/handbook`, {
      method: "POST",
      headers: { "x-request-id": id, ...headers },
      body: JSON.stringify(body),
    });
    return await response.text();
  };
  // the tables are looked at once
  await ask("none", leave, {});

  for (const [id, body] of [["one", leave], ["two", { ...leave, stream: true }]] as const) {
    await ask(id, body);
    const all = await collector.traceWith(({ attributes }) => attributes["postern.request.id"] === id);
    const root = all.find(({ attributes }) => attributes["postern.request.id"] === id);
    assert.ok(root);
    const below = (spanId: string): typeof all =>
      all.flatMap((span) => span.parentSpanId === spanId ? [span, ...below(span.spanId)] : []);
    const spans = [root, ...below(root.spanId)];
    assert.deepEqual(treeOf(spans), [[
      "POST /v1/pipelines/{name}",
      "queue",
      ["retrieval", "embeddings e", "queue", `SELECT ${database.name}`],
      "chat m",
    ]]);
    assertHas(spans.find(({ name }) => name === "embeddings e"), {
      kind: 3,
      attributes: {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "e",
      },
    });
    const chat = spans.find(({ name }) => name === "chat m");
    assert.ok(Number(chat?.attributes["gen_ai.usage.output_tokens"]) > 0);
    assertHas(spans.find(({ name }) => name === "retrieval"), { attributes: { "postern.documents": 7 } });
    assertHas(root, { attributes: { "postern.pipeline": "handbook", "http.response.status_code": 200 } });
    assert.ok(chat !== undefined && chat.endNs <= root.endNs, "the request ends with its last event");
    for (const span of spans) assert.equal(span.traceId, traceId);
  }
  anthropic.fail(401);
  await ask("three", leave);
  const failed = await collector.traceWith(({ attributes }) => attributes["postern.request.id"] === "three");
  assertHas(failed.findLast(({ name }) => name === "chat m"), {
    status: 2,
    attributes: { "error.type": "credentials" },
  });
  assertHas(failed.at(-1), { status: 2, attributes: { "error.type": "500" } });
  assert.match(process.stderr(), new RegExp(`A query failed .*request=three trace_id=${traceId}`));

  anthropic.mend();
  const followUp = { query: "and now?", messages: [{ role: "user", content: leave.query }] };
  await ask("four", followUp);
  const rewritten = await collector.traceWith(({ attributes }) =>
    attributes["postern.request.id"] === "four"
  );
  const retrieval = rewritten.findLast(({ name }) => name === "retrieval");
  const calls = rewritten.filter(({ parentSpanId }) => parentSpanId === retrieval?.spanId);
  assert.deepEqual(calls.map(({ name }) => name).slice(0, 2), ["chat m", "embeddings e"]);
  assert.equal(retrieval?.attributes["postern.search_query"], undefined);
  assert.doesNotMatch(collector.text(), /annual leave|One, two/i);

  await using telling = await startRagServer({ pipelines, traces: { ...traces, include_texts: true } });
  await telling.client.ask("handbook", { query: leave.query });
  const response = await fetch(`${telling.process.url}/v1/pipelines/handbook`, {
    method: "POST",
    headers: { "x-request-id": "five", traceparent },
    body: JSON.stringify(followUp),
  });
  await response.text();
  const told = await collector.traceWith(({ attributes }) => attributes["postern.request.id"] === "five");
  assertHas(told.findLast(({ name }) => name === "retrieval"), {
    attributes: { "postern.search_query": "One, two." },
  });
});
