import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { scrape } from "../../support/scrape.ts";
import { waitUntil } from "../../support/wait_until.ts";

const leave = { query: "How many days of annual leave are there?" };
const metrics = { address: "127.0.0.1:0" };

testWithPgvectorServer(
  "the RAG server's metrics count questions, their stages and the providers' part",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: ["One, ", "two."] });
    const parts = { database, openai, anthropic };
    const pipelines = [handbookPipeline("handbook", parts), handbookPipeline("other", parts)];
    await using running = await startRagServer({ pipelines, metrics });
    const { client, process } = running;
    const { samples } = await scrape(process);
    const isThere = (name: string, labels: object) =>
      samples.some((sample) =>
        sample.name === name && sample.value === 0 &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
      );
    assert.ok(isThere("postern_provider_calls_total", { provider: "openai/e", outcome: "credentials" }));
    assert.ok(isThere("postern_reloads_total", { what: "configuration", outcome: "failed" }));
    const tokens = (await client.ask("handbook", { ...leave, include_sources: true })).tokens_used;
    await client.stream("handbook", leave);
    openai.fail(500, { times: 1 });
    await client.ask("handbook", leave);
    anthropic.fail(401);
    assert.equal((await client.post("handbook", leave)).status, 500);
    assert.equal((await client.post("handbook", { ...leave, top_n: 0 })).status, 400);
    assert.equal((await client.post("no-such-pipeline", leave)).status, 404);
    const first = await scrape(process);
    const { value, text } = first;

    const queries = (result: string) =>
      value("postern_queries_total", { pipeline: "handbook", outcome: result });
    assert.equal(queries("ok"), 3);
    assert.equal(queries("execution_error"), 1);
    assert.equal(value("postern_queries_total"), 4, "what is no question is none");
    assert.equal(value("postern_query_seconds_count", { pipeline: "handbook" }), 4);
    const stage = (name: string) =>
      value("postern_query_stage_seconds_count", { pipeline: "handbook", stage: name });
    assert.deepEqual([stage("embedding"), stage("search"), stage("rerank"), stage("answer")], [4, 4, 0, 4]);
    assert.equal(value("postern_http_requests_total", { route: "/v1/pipelines/{name}", code: "200" }), 3);
    assert.equal(value("postern_http_requests_total", { route: "/v1/pipelines/{name}", code: "404" }), 1);

    const ofOpenai = { server: "rag_server", pipeline: "handbook", provider: "openai/e" };
    const ofAnthropic = { server: "rag_server", pipeline: "handbook", provider: "anthropic/m" };
    const calls = (provider: object, operation: string, result: string) =>
      value("postern_provider_calls_total", { ...provider, operation, outcome: result });
    assert.equal(calls(ofOpenai, "embed", "ok"), 4);
    assert.equal(value("postern_provider_retries_total", ofOpenai), 1);
    assert.equal(calls(ofAnthropic, "complete", "ok"), 2);
    assert.equal(calls(ofAnthropic, "stream", "ok"), 1);
    assert.equal(calls(ofAnthropic, "complete", "credentials"), 1);
    assert.equal(value("postern_provider_call_seconds_count", ofAnthropic), 4);
    assert.equal(value("postern_stage_seconds_count", { server: "rag_server", stage: "provider" }), 8);
    const used = value("postern_provider_tokens_total", ofOpenai) +
      value("postern_provider_tokens_total", ofAnthropic);
    assert.ok(tokens !== undefined && used >= 3 * tokens, `${used} tokens of ${tokens} an answer`);
    assert.equal(value("postern_provider_circuits", { ...ofAnthropic, state: "closed" }), 1);
    assert.equal(
      value("postern_statements_total", { server: "rag_server", database: "handbook", origin: "caller" }),
      0,
      "searches are Postern's own statements",
    );
    assert.equal(value("postern_rows_total", { server: "rag_server", database: "handbook" }) > 0, true);
    const admitted = first.samples.find(({ name, labels }) =>
      name === "postern_stage_seconds_count" && labels["stage"] === "queue" &&
      labels["database"] === undefined
    );
    assert.equal(admitted?.value, 4, "questions that were let in");
    assert.doesNotMatch(text, /annual|no-such-pipeline/);

    await running.configure({ pipelines: [handbookPipeline("handbook", parts)], metrics });
    const circuits = async () => (await scrape(process)).value("postern_provider_circuits");
    await waitUntil("the pipelines are replaced", async () => await circuits() === 2);
    const later = await scrape(process);
    assert.equal(later.value("postern_queries_total"), 4, "a reload keeps what was counted");
  },
);

testWithPgvectorServer(
  "the metrics show a provider that is left alone, and a client that has left",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    const hold = Promise.withResolvers<void>();
    await using anthropic = createVendor("anthropic", {
      answer: ["One, ", "two."],
      beforePiece: (index) => index === 4 ? hold.promise : Promise.resolve(),
    });
    const pipelines = [handbookPipeline("handbook", { database, openai, anthropic })];
    await using running = await startRagServer({ pipelines, metrics });
    const { client, process } = running;
    const leaving = new AbortController();
    const response = await fetch(`${process.url}/v1/pipelines/handbook`, {
      method: "POST",
      body: JSON.stringify({ ...leave, stream: true }),
      signal: leaving.signal,
    });
    assert.equal(response.status, 200);
    leaving.abort();
    const queries = async (result: string) =>
      (await scrape(process)).value("postern_queries_total", { outcome: result });
    await waitUntil("the client has left", async () => await queries("client_left") === 1);
    hold.resolve();
    await waitUntil(
      "the stream has ended",
      async () =>
        (await scrape(process)).value("postern_provider_calls_total", {
          operation: "stream",
          outcome: "cancelled",
        }) ===
          1,
    );

    anthropic.fail(400);
    await client.post("handbook", leave);
    assert.equal((await scrape(process)).value("postern_provider_circuits", { state: "open" }), 0);
    openai.fail(429, { retryAfter: "3600" });
    for (let n = 0; n < 5; n++) await client.post("handbook", leave);
    const { value } = await scrape(process);
    assert.equal(value("postern_provider_circuits", { provider: "openai/e", state: "open" }), 1);
    assert.equal(value("postern_provider_calls_total", { operation: "embed", outcome: "rate_limit" }), 5);
  },
);
