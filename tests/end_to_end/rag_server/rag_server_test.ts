import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor, type Vendor } from "../../llm/wire/vendors/vendor.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { requireTestDatabaseUrl, testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { answerOf, createRagClient, type RagBody } from "../../support/rag_client.ts";
import { configText, startRagServer } from "../../support/rag_server.ts";
import { runProgram, startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { testWithPrograms } from "../../support/programs.ts";

interface Places {
  readonly database: string;
  readonly openai: Vendor;
  readonly anthropic: Vendor;
  readonly voyage: Vendor;
}

/** As somebody who runs pgEdge's RAG server has written it; only addresses are this test's. */
function pgedgeConfig({ database, openai, anthropic, voyage }: Places): string {
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  const databaseSection = `
    database:
      host: "${hostname}"
      port: ${port}
      database: "${database}"
      username: "${username}"
      ssl_mode: "disable"`;
  return `
server:
  listen_address: "127.0.0.1"
  port: 0
  cors:
    enabled: true
    allowed_origins: ["https://app.example.com"]
api_keys:
  openai: "openai.key"
  anthropic: "anthropic.key"
  voyage: "voyage.key"
identity:
  enabled: false
  claims_header: X-Forwarded-Claims
defaults:
  token_budget: 4000
  top_n: 10
  embedding_llm: { provider: openai, model: text-embedding-3-small, base_url: "${openai.url}" }
  rag_llm: { provider: anthropic, model: claude-sonnet-4-20250514, base_url: "${anthropic.url}" }
  llm_headers: { x-gateway: defaults, x-level: defaults }
pipelines:
  - name: "docs"
    description: "Handbook and questions of customers"${databaseSection}
    tables:
      - table: "pages"
        text_column: "content"
        vector_column: "embedding"
        id_column: id
        filter: "year >= 2024"
      - table: "faqs"
        text_column: "body"
        vector_column: "embedding"
        id_column: code
    system_prompt: |
      You are Quillon, the clerk.
    search: { hybrid_enabled: true, vector_weight: 0.7, bm25_max_documents: 10000 }
    allow_include_sources: true
  - name: "closed"
    description: "For contractors"${databaseSection}
    tables:
      - table: "pages"
        text_column: "content"
        vector_column: "embedding"
        filter:
          conditions:
            - { column: audience, operator: IN, value: [all, contractors] }
            - { column: year, operator: ">=", value: 2024 }
          logic: AND
    rag_llm:
      provider: anthropic
      request_timeout: 500ms
      headers: { x-level: provider }
      fallback: [{ provider: openai, model: gpt-4o, base_url: "${openai.url}" }]
    api_keys: { anthropic: anthropic_closed.key }
    llm_headers: { x-level: pipeline, x-pipeline: closed }
  - name: "ranked"
    description: "Ordered once more"${databaseSection}
    tables: [{ table: pages, text_column: content, vector_column: embedding, id_column: id }]
    rerank: { provider: voyage, model: rerank-2, top_k: 3, base_url: "${voyage.url}", request_timeout: 500ms }
    allow_include_sources: true
  - name: "strict"
    description: "Answers what it is sure of"${databaseSection}
    tables: [{ table: pages, text_column: content, vector_column: embedding, id_column: id }]
    search: { hybrid_enabled: true, min_similarity: 0.8, rewrite_follow_ups: false }
    allow_include_sources: true
`;
}

const keys = {
  "openai.key": "sk-proj-OpenAiKeyOfThisTest",
  "anthropic.key": "sk-ant-AnthropicKeyOfThisTest",
  "anthropic_closed.key": "sk-ant-KeyOfTheClosedPipeline",
  "voyage.key": "pa-VoyageKeyOfThisTest",
};

interface ChatBody {
  readonly system: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

function lastRequest(vendor: Vendor, path: string) {
  const request = vendor.requests.findLast((request) => request.path === path);
  assert.ok(request, `${path} was not asked for`);
  return request;
}

function lastPrompt(vendor: Vendor): ChatBody {
  const { body } = lastRequest(vendor, "/v1/messages");
  return body as ChatBody;
}

function lastEmbedded(vendor: Vendor): unknown {
  const { body } = lastRequest(vendor, "/v1/embeddings");
  return (body as { readonly input: unknown }).input;
}

const ids = ({ sources }: RagBody) => sources?.map(({ id }) => id);

testWithPgvectorServer("a configuration written for pgEdge's RAG server is served", async (t) => {
  await using database = await createHandbookDatabase();
  await database.query("ANALYZE pages, faqs");
  await using openai = createVendor("openai", {
    key: keys["openai.key"],
    embed: topicVector,
    answer: "From the fallback.",
  });
  const rewritten = "How many days of leave do contractors get?";
  await using anthropic = createVendor("anthropic", {
    answer: ({ system }) => system.startsWith("You prepare a search") ? [rewritten] : ["Quite ", "so."],
  });
  await using voyage = createVendor("voyage", {
    key: keys["voyage.key"],
    score: (_query, document) => document.includes("Quokka7") ? 0.9 : 1 / document.length,
  });
  await using running = await startRagServer(
    pgedgeConfig({ database: database.name, openai, anthropic, voyage }),
    { files: keys },
  );
  const { client, process, folder } = running;
  const mentionsSources = { query: "How many days of annual leave are there?", include_sources: true };

  await t.step("it warns of what is not needed here, and starts", () => {
    assert.match(process.stderr(), /bm25_max_documents/);
  });

  await t.step("the endpoints that ask no provider", async () => {
    assert.deepEqual((await client.get("/v1/live")).body, { status: "ok" });
    assert.deepEqual((await client.get("/v1/pipelines")).body, {
      pipelines: [
        { name: "docs", description: "Handbook and questions of customers" },
        { name: "closed", description: "For contractors" },
        { name: "ranked", description: "Ordered once more" },
        { name: "strict", description: "Answers what it is sure of" },
      ],
    });
    const { body: { pipelines } } = await client.get("/v1/stats");
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    assert.deepEqual(pipelines?.map(({ embedding, completion }) => [embedding, completion]), [
      [none, none],
      [none, none],
      [none, none],
      [none, none],
    ]);
    assert.equal(openai.requests.length + anthropic.requests.length + voyage.requests.length, 0);
  });

  await t.step("health asks all providers", async () => {
    const { status, body } = await client.get("/v1/health");
    assert.equal(status, 200);
    assert.equal(body.status, "healthy");
    const reachable = { reachable: true };
    assert.deepEqual(body.pipelines?.[1], {
      name: "closed",
      embedding: reachable,
      completion: reachable,
      database: reachable,
      tables: [{ name: "pages", rows: 7, keyword_index: false, vector_index: false }],
    });
  });

  await t.step("what is not there, and what is not allowed", async () => {
    const missing = await client.post("nowhere", { query: "q" });
    assert.deepEqual([missing.status, missing.body.error?.code], [404, "PIPELINE_NOT_FOUND"]);
    const unknown = await client.get("/v1/nothing");
    assert.deepEqual([unknown.status, unknown.body.error?.code], [404, "NOT_FOUND"]);
    const wrong = await client.get("/v1/pipelines/docs");
    assert.deepEqual([wrong.status, wrong.body.error?.code, wrong.headers.get("allow")], [
      405,
      "METHOD_NOT_ALLOWED",
      "POST",
    ]);
    const deleted = await client.request("/v1/stats", { method: "DELETE" });
    assert.deepEqual([deleted.status, deleted.headers.get("allow")], [405, "GET, HEAD"]);
  });

  await t.step("an answer, grounded in what was found", async () => {
    const reply = await client.ask("docs", { query: "How many days of annual leave are there?" });
    assert.deepEqual(Object.keys(reply), ["answer", "tokens_used"]);
    assert.equal(reply.answer, "Quite so.");
    // 3 of the question's embedding, 120 and 7 of the answer
    assert.equal(reply.tokens_used, 130);
    const { system, messages } = lastPrompt(anthropic);
    assert.match(system, /^You are Quillon, the clerk\.\n/);
    assert.equal(messages.length, 1);
    assert.match(
      messages[0]?.content ?? "",
      /^Documents:\n<data-([0-9a-f]{32})>\n\[1\]\nAnnual leave is 25 days.*\n<\/data-\1>\n\nQuestion: How many days of annual leave are there\?$/s,
    );
  });

  await t.step("sources where the pipeline permits them: those of the prompt, in its order", async () => {
    const { sources = [] } = await client.ask("docs", mentionsSources);
    assert.deepEqual(sources[0]?.id, "1");
    assert.deepEqual(
      sources.map(({ score }) => score),
      sources.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    assert.ok(sources[0] && sources[0].score > 0.5 && sources[0].score < 1, "standardised scores");
    const prompt = lastPrompt(anthropic).messages[0]?.content ?? "";
    sources.forEach(({ content }, index) => assert.ok(prompt.includes(`[${index + 1}]\n${content}`)));

    const closed = await client.ask("closed", mentionsSources);
    assert.deepEqual(Object.keys(closed), ["answer", "tokens_used"]);
    assert.match(process.stderr(), /Sources were asked for.*pipeline=closed/);
    const streamed = await client.stream("closed", mentionsSources);
    assert.deepEqual(streamed.at(-1), { type: "done" });
  });

  await t.step("several tables, each with its own identities", async () => {
    const { sources = [] } = await client.ask("docs", {
      query: "What does gold cost?",
      include_sources: true,
    });
    assert.deepEqual(new Set(sources.slice(0, 2).map(({ id }) => id)), new Set(["6", "gold-1"]));
  });

  await t.step("top_n of the request in place of the configuration's", async () => {
    assert.equal((await client.ask("docs", { ...mentionsSources, top_n: 2 })).sources?.length, 2);
    assert.equal((await client.ask("docs", { ...mentionsSources, top_n: 1 })).sources?.length, 1);
    const tooMany = await client.post("docs", { query: "q", top_n: 101 });
    assert.equal(tooMany.status, 400);
    assert.match(tooMany.body.error?.message ?? "", /^top_n: /);
  });

  await t.step("disable_hybrid leaves the words out", async () => {
    // the laptop's page is the nearest; only its words lead to the page about parking
    const query = { query: "laptop Quokka7", include_sources: true, top_n: 2 };
    assert.deepEqual(new Set(ids(await client.ask("docs", query))), new Set(["4", "5"]));
    const [nearest, next] = ids(await client.ask("docs", { ...query, disable_hybrid: true })) ?? [];
    assert.deepEqual([nearest, next === "5"], ["4", false]);
  });

  await t.step("filters of the configuration and of the request hold together", async () => {
    // the configuration keeps the page of 2023 out
    const all = ids(await client.ask("docs", { ...mentionsSources, top_n: 20 }));
    assert.deepEqual([all?.includes("1"), all?.includes("2"), all?.includes("7")], [true, true, false]);
    await client.ask("closed", {
      query: "Which leave is there?",
      filter: { conditions: [{ column: "audience", operator: "!=", value: "all" }] },
    });
    const prompt = lastPrompt(anthropic).messages[0]?.content ?? "";
    assert.match(prompt, /Contractors have no paid leave/);
    assert.doesNotMatch(prompt, /Annual leave|Unpaid leave|director/);
    await client.ask("ranked", {
      query: "Which leave is there?",
      filter: {
        conditions: [{ column: "year", operator: "<", value: 2024 }, {
          column: "id",
          operator: "IN",
          value: [2],
        }],
        logic: "OR",
      },
    });
    const either = lastPrompt(anthropic).messages[0]?.content ?? "";
    assert.match(either, /Contractors have no paid leave/);
    assert.match(either, /Unpaid leave/);
    assert.doesNotMatch(either, /Annual leave/);
  });

  await t.step("a filter's column that does not exist is named before anything is spent", async () => {
    const before = openai.requests.length;
    const ofAnthropic = anthropic.requests.length;
    const { status, body } = await client.post("docs", {
      query: "q",
      messages: [{ role: "user", content: "leave" }],
      filter: { conditions: [{ column: "audience", operator: "=", value: "all" }] },
    });
    assert.deepEqual([status, body.error?.code], [400, "INVALID_REQUEST"]);
    assert.match(body.error?.message ?? "", /audience/);
    assert.equal(openai.requests.length, before);
    assert.equal(anthropic.requests.length, ofAnthropic);
  });

  const messages = [
    { role: "user", content: "How many days of annual leave do employees get?" },
    { role: "assistant", content: "25 days [1]." },
  ];
  const followUp = { query: "And for contractors?", messages, include_sources: true, top_n: 2 };

  await t.step("a follow-up is searched for as a question of its own", async () => {
    const before = anthropic.requests.length;
    const reply = await client.ask("docs", followUp);
    assert.equal(reply.search_query, rewritten);
    assert.deepEqual(lastEmbedded(openai), [rewritten]);
    assert.equal(ids(reply)?.[0], "2");
    assert.equal(anthropic.requests.length, before + 2);
    // 3 of the embedding, 120 and 7 of each of the model's replies
    assert.equal(reply.tokens_used, 257);
    // the model that answers has the conversation as it was
    const prompt = lastPrompt(anthropic).messages;
    assert.deepEqual(prompt.slice(0, 2), messages);
    assert.match(prompt[2]?.content ?? "", /\nQuestion: And for contractors\?$/);
    // the same conversation is not rewritten again
    const { include_sources: _, ...plain } = followUp;
    assert.deepEqual((await client.stream("docs", plain)).at(-1), { type: "done", search_query: rewritten });
    assert.equal(anthropic.requests.length, before + 3);
  });

  await t.step("without a model for it, the words of the turn before are searched for too", async () => {
    const before = anthropic.requests.length;
    const inWords = "How many days of annual leave do employees get?\nAnd for contractors?";
    const reply = await client.ask("strict", followUp);
    assert.deepEqual(lastEmbedded(openai), [inWords]);
    assert.equal(reply.search_query, inWords);
    assert.ok(anthropic.requests.length <= before + 1);
  });

  await t.step("keys and headers of defaults, pipeline and provider, the nearest wins", async () => {
    await client.ask("docs", { query: "leave" });
    const ofDocs = lastRequest(anthropic, "/v1/messages").headers;
    assert.deepEqual(
      ["x-api-key", "x-gateway", "x-level", "x-pipeline"].map((name) => ofDocs.get(name)),
      [keys["anthropic.key"], "defaults", "defaults", undefined],
    );
    await client.ask("closed", { query: "leave" });
    const ofClosed = lastRequest(anthropic, "/v1/messages").headers;
    assert.deepEqual(
      ["x-api-key", "x-gateway", "x-level", "x-pipeline"].map((name) => ofClosed.get(name)),
      [keys["anthropic_closed.key"], "defaults", "provider", "closed"],
    );
    const embedding = lastRequest(openai, "/v1/embeddings").headers;
    assert.deepEqual(
      ["authorization", "x-level", "x-pipeline"].map((name) => embedding.get(name)),
      [`Bearer ${keys["openai.key"]}`, "pipeline", "closed"],
    );
  });

  await t.step("a reranker orders what the search found", async () => {
    const counted = async () => {
      const ranked = (await client.get("/v1/stats")).body.pipelines?.find(({ name }) => name === "ranked");
      const counts = [ranked?.embedding, ranked?.completion, ranked?.rerank];
      return counts.reduce((sum, count) => sum + Number(count?.["total_tokens"]), 0);
    };
    const before = await counted();
    const reply = await client.ask("ranked", mentionsSources);
    assert.equal(reply.sources?.length, 3);
    assert.deepEqual([reply.sources?.[0]?.id, reply.sources?.[0]?.score], ["5", 0.9]);
    const { body } = lastRequest(voyage, "/v1/rerank");
    assert.equal((body as { readonly documents: unknown[] }).documents.length, 7);
    // its tokens count too: 5 for each document
    assert.equal(reply.tokens_used, 130 + 35);
    assert.equal(await counted() - before, 130 + 35);
  });

  await t.step("a reranker that fails costs the order and no more", async () => {
    voyage.fail(500);
    const reply = await client.ask("ranked", mentionsSources);
    assert.deepEqual([reply.answer, reply.sources?.length, reply.sources?.[0]?.id], ["Quite so.", 3, "1"]);
    voyage.mend();
  });

  await t.step("the fallback answers where the first provider fails", async () => {
    anthropic.fail(500);
    assert.equal((await client.ask("closed", { query: "leave" })).answer, "From the fallback.");
    assert.equal(answerOf(await client.stream("closed", { query: "leave" })), "From the fallback.");
    assert.match(process.stderr(), /anthropic/);
    anthropic.mend();
  });

  await t.step(
    "health is degraded while a provider is not reachable, with a phrase and nothing else",
    async () => {
      anthropic.fail(401, { echo: `your key ${keys["anthropic.key"]} is wrong` });
      const { status, body } = await client.get("/v1/health");
      assert.deepEqual([status, body.status], [200, "degraded"]);
      assert.deepEqual(body.pipelines?.[0], {
        name: "docs",
        embedding: { reachable: true },
        completion: { reachable: false, error: "the provider rejected the server's credentials" },
        database: { reachable: true },
        tables: ["pages", "faqs"].map((name, at) => (
          { name, rows: [7, 1][at], keyword_index: false, vector_index: false }
        )),
      });
      anthropic.mend();
      assert.equal((await client.get("/v1/health")).body.status, "healthy");
    },
  );

  await t.step("where nothing is similar enough, no model is asked", async () => {
    const before = anthropic.requests.length;
    const reply = await client.ask("strict", { query: "Who won the cup?", include_sources: true });
    assert.deepEqual(reply, {
      answer: "The documents do not answer this question.",
      answered: false,
      sources: [],
      citations: [],
      tokens_used: 3,
    });
    const events = await client.stream("strict", { query: "Who won the cup?" });
    assert.equal(answerOf(events), "The documents do not answer this question.");
    assert.equal(anthropic.requests.length, before);
    const found = await client.ask("strict", { query: "What is the leave?", include_sources: true });
    assert.deepEqual(ids(found)?.toSorted(), ["1", "2", "7"]);
  });

  await t.step("pages of allowed origins may read the answers", async () => {
    const allowed = await client.get("/v1/live", { origin: "https://app.example.com" });
    assert.equal(allowed.headers.get("access-control-allow-origin"), "https://app.example.com");
    assert.match(allowed.headers.get("vary") ?? "", /Origin/);
    const other = await client.get("/v1/live", { origin: "https://evil.example.com" });
    assert.equal(other.headers.get("access-control-allow-origin"), null);
    assert.match(other.headers.get("vary") ?? "", /Origin/);
    const preflight = await client.send("/v1/pipelines/docs", {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example.com",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
      },
    });
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers.get("access-control-allow-methods") ?? "", /POST/);
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /content-type/i);
  });

  await t.step("the description that is printed is the one that is served", async () => {
    const served = await client.get("/v1/openapi.json");
    const { code, stdout } = await runProgram(["-openapi"]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), served.body);
    assert.equal(JSON.parse(stdout).openapi, "3.0.3");
  });

  await t.step("counts outlive a reload of the configuration", async () => {
    const { body: before } = await client.get("/v1/stats");
    const [docs] = before.pipelines ?? [];
    assert.ok(Number(docs?.completion?.["prompt_tokens"]) >= 120);
    assert.ok(Number(docs?.completion?.["cache_read_input_tokens"]) >= 40);
    assert.ok(Number(docs?.embedding?.["total_tokens"]) >= 3);
    const text = await Deno.readTextFile(folder.configFile);
    await folder.write(text.replace("Handbook and questions of customers", "Renamed"));
    const description = async () => (await client.get("/v1/pipelines")).body.pipelines?.[0]?.description;
    await waitUntil("the new configuration serves", async () => await description() === "Renamed");
    const { body: after } = await client.get("/v1/stats");
    assert.deepEqual(after.pipelines?.[0], { ...docs, description: "Renamed" });
    await client.ask("docs", { query: "leave" });
    const [more] = (await client.get("/v1/stats")).body.pipelines ?? [];
    assert.equal(
      Number(more?.completion?.["total_tokens"]),
      Number(docs?.completion?.["total_tokens"]) + 127,
    );
  });
  assert.equal(await process.stop(), 0, process.stderr());
});

testWithPrograms(["openssl"], "both servers run in one process, the RAG server with TLS", async (t) => {
  await using database = await createHandbookDatabase();
  await using folder = await createConfigFolder("");
  const authority = await createCertificateAuthority(folder.path, "Test CA");
  const { certFile, keyFile } = await authority.issue({
    commonName: "127.0.0.1",
    subjectAltNames: ["IP:127.0.0.1"],
  });
  const server = {
    listen_address: "127.0.0.1",
    port: 0,
    tls: { enabled: true, cert_file: certFile, key_file: keyFile },
  };
  const config = configText({ server, pipelines: [] });
  await folder.write(`${config.slice(0, -2)}, "databases": [${databaseEntry("shop", database.name)}]\n}`);
  const { token } = await folder.addToken({ note: "test" });

  await t.step("on two ports", async () => {
    await using process = await startServer([
      ...["-http", "-addr", "127.0.0.1:0", "-rag", "-config", folder.configFile],
    ]);
    await waitUntil("both listen", () => process.stderr().match(/listening on/g)?.length === 2);
    const [secure, plain] = [/https:\/\/\S+/, /http:\/\/\S+/].map((url) =>
      url.exec(process.stderr())?.[0] ?? ""
    );
    using httpClient = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(authority.certFile)] });
    const rag = createRagClient({ url: secure ?? "", httpClient });
    assert.deepEqual((await rag.get("/v1/live")).body, { status: "ok" });
    const { data } = await createToolClient({ url: plain ?? "", token }).call("query_database", {
      query: "SELECT count(*) FROM pages",
    });
    assert.deepEqual(data["rows"], [[7]]);
    assert.equal(await process.stop(), 0);
  });

  await t.step("equal addresses are refused before anything starts", async () => {
    const { code, stdout, stderr } = await runProgram([
      ...["-http", "-addr", "127.0.0.1:18080", "-rag", "-rag-port", "18080", "-config", folder.configFile],
    ]);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /^[^\n]*listen on port 18080[^\n]*\n$/);
    assert.doesNotMatch(stderr, /listening on/);
  });
}, testWithPgvector);

Deno.test("certificate files that are not there stop the RAG server with one line", async () => {
  await using folder = await createConfigFolder("");
  const certFile = join(folder.path, "missing.pem");
  await folder.write(configText({
    server: {
      listen_address: "127.0.0.1",
      port: 0,
      tls: { enabled: true, cert_file: certFile, key_file: certFile },
    },
  }));
  const { code, stderr } = await runProgram(["-rag", "-config", folder.configFile]);
  assert.equal(code, 1);
  assert.match(stderr, /^[^\n]*missing\.pem[^\n]*\n$/);
});
