import assert from "node:assert/strict";
import { createCompletionProvider, createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import type { ProviderOptions } from "../../../src/llm/provider.ts";
import { key, neverAborted, optionsFor, type Subject, subjects } from "./provider_subjects.ts";
import { createVendor, type Vendor, type VendorName } from "./vendors/vendor.ts";

const messages = [
  { role: "user", content: "Hello?" },
  { role: "assistant", content: "Yes." },
  { role: "user", content: "What is it?" },
];
const system = { role: "system", content: "Be brief." };
const geminiMessages = [
  { role: "user", parts: [{ text: "Hello?" }] },
  { role: "model", parts: [{ text: "Yes." }] },
  { role: "user", parts: [{ text: "What is it?" }] },
];
const geminiSystem = { parts: [{ text: "Be brief." }] };
const documents = ["a green one", "a blue and red one", "a red one"];

interface Expected {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where nothing is configured that may be left out. */
  readonly body: unknown;
  /** With `maxTokens` 9, `temperature` 0.5 and `dimensions` 4. */
  readonly configured: unknown;
}

const bearer = { authorization: `Bearer ${key}` };
const anthropicHeaders = { "x-api-key": key, "anthropic-version": "2023-06-01" };
const geminiHeaders = { "x-goog-api-key": key };
const model = "model-1";

const expected: Readonly<Record<string, Expected>> = {
  "openai completion": {
    path: "/v1/chat/completions",
    headers: bearer,
    body: { model, messages: [system, ...messages] },
    configured: { model, messages: [system, ...messages], max_tokens: 9, temperature: 0.5 },
  },
  "openai stream": {
    path: "/v1/chat/completions",
    headers: bearer,
    body: { model, messages: [system, ...messages], stream: true, stream_options: { include_usage: true } },
    configured: {
      model,
      messages: [system, ...messages],
      max_tokens: 9,
      temperature: 0.5,
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  "openai embedding": {
    path: "/v1/embeddings",
    headers: bearer,
    body: { model, input: ["one", "two"] },
    configured: { model, input: ["one", "two"], dimensions: 4 },
  },
  "anthropic completion": {
    path: "/v1/messages",
    headers: anthropicHeaders,
    body: { model, max_tokens: 16_000, system: "Be brief.", messages },
    configured: { model, max_tokens: 9, system: "Be brief.", messages, temperature: 0.5 },
  },
  "anthropic stream": {
    path: "/v1/messages",
    headers: anthropicHeaders,
    body: { model, max_tokens: 16_000, system: "Be brief.", messages, stream: true },
    configured: {
      model,
      max_tokens: 9,
      system: "Be brief.",
      messages,
      temperature: 0.5,
      stream: true,
    },
  },
  "gemini completion": {
    path: "/v1beta/models/model-1:generateContent",
    headers: geminiHeaders,
    body: { systemInstruction: geminiSystem, contents: geminiMessages },
    configured: {
      systemInstruction: geminiSystem,
      contents: geminiMessages,
      generationConfig: { maxOutputTokens: 9, temperature: 0.5 },
    },
  },
  "gemini stream": {
    path: "/v1beta/models/model-1:streamGenerateContent?alt=sse",
    headers: geminiHeaders,
    body: { systemInstruction: geminiSystem, contents: geminiMessages },
    configured: {
      systemInstruction: geminiSystem,
      contents: geminiMessages,
      generationConfig: { maxOutputTokens: 9, temperature: 0.5 },
    },
  },
  "gemini embedding": {
    path: "/v1beta/models/model-1:batchEmbedContents",
    headers: geminiHeaders,
    body: {
      requests: ["one", "two"].map((text) => ({
        model: "models/model-1",
        content: { parts: [{ text }] },
        taskType: "RETRIEVAL_DOCUMENT",
      })),
    },
    configured: {
      requests: ["one", "two"].map((text) => ({
        model: "models/model-1",
        content: { parts: [{ text }] },
        taskType: "RETRIEVAL_DOCUMENT",
        outputDimensionality: 4,
      })),
    },
  },
  "voyage embedding": {
    path: "/v1/embeddings",
    headers: bearer,
    body: { model, input: ["one", "two"], input_type: "document", encoding_format: "base64" },
    configured: {
      model,
      input: ["one", "two"],
      input_type: "document",
      output_dimension: 4,
      encoding_format: "base64",
    },
  },
  "voyage rerank": {
    path: "/v1/rerank",
    headers: bearer,
    body: { model, query: "blue red", documents, top_k: 2 },
    configured: { model, query: "blue red", documents, top_k: 2 },
  },
  "rerank rerank": {
    path: "/v2/rerank",
    headers: bearer,
    body: { model, query: "blue red", documents, top_n: 2 },
    configured: { model, query: "blue red", documents, top_n: 2 },
  },
  "ollama completion": {
    path: "/api/chat",
    headers: bearer,
    body: { model, messages: [system, ...messages], options: { num_ctx: 8192 }, stream: false },
    configured: {
      model,
      messages: [system, ...messages],
      options: { num_ctx: 8192, num_predict: 9, temperature: 0.5 },
      stream: false,
    },
  },
  "ollama stream": {
    path: "/api/chat",
    headers: bearer,
    body: { model, messages: [system, ...messages], options: { num_ctx: 8192 }, stream: true },
    configured: {
      model,
      messages: [system, ...messages],
      options: { num_ctx: 8192, num_predict: 9, temperature: 0.5 },
      stream: true,
    },
  },
  "ollama embedding": {
    path: "/api/embed",
    headers: bearer,
    body: { model, input: ["one", "two"] },
    configured: { model, input: ["one", "two"], dimensions: 4 },
  },
};

function sent(vendor: Vendor, headers: Readonly<Record<string, string>>) {
  const request = vendor.requests.at(-1);
  const names = Object.keys(headers);
  return {
    method: request?.method,
    path: request?.path,
    headers: Object.fromEntries(names.map((name) => [name, request?.headers.get(name)])),
    body: request?.body,
  };
}

for (const subject of subjects) {
  Deno.test(`${subject.name}: the request on the wire`, async () => {
    const { path, headers, body, configured } = expectedOf(subject);
    await using vendor = createVendor(subject.vendor, { key });
    await subject.run(optionsFor(subject.vendor, vendor.url));
    assert.deepEqual(sent(vendor, headers), { method: "POST", path, headers, body });

    await subject.run(
      optionsFor(subject.vendor, vendor.url, { maxTokens: 9, temperature: 0.5, dimensions: 4 }),
    );
    assert.deepEqual(sent(vendor, headers), { method: "POST", path, headers, body: configured });
  });
}

function expectedOf(subject: Subject): Expected {
  const found = expected[subject.name];
  assert.ok(found, subject.name);
  return found;
}

Deno.test("ping asks each vendor the cheapest question it has", async () => {
  const asked: Record<string, string> = {};
  for (const subject of subjects) {
    await using vendor = createVendor(subject.vendor, { key });
    await subject.ping(optionsFor(subject.vendor, vendor.url));
    asked[subject.name] = `${vendor.requests[0]?.method} ${vendor.requests[0]?.path}`;
  }

  assert.deepEqual(asked, {
    "openai completion": "GET /v1/models",
    "openai stream": "GET /v1/models",
    "openai embedding": "GET /v1/models",
    "anthropic completion": "GET /v1/models?limit=1",
    "anthropic stream": "GET /v1/models?limit=1",
    "gemini completion": "GET /v1beta/models?pageSize=1",
    "gemini stream": "GET /v1beta/models?pageSize=1",
    "gemini embedding": "GET /v1beta/models?pageSize=1",
    "voyage embedding": "POST /v1/embeddings",
    "voyage rerank": "POST /v1/rerank",
    "rerank rerank": "POST /v2/rerank",
    "ollama completion": "GET /api/tags",
    "ollama stream": "GET /api/tags",
    "ollama embedding": "GET /api/tags",
  });
});

Deno.test("a question is embedded otherwise than a document where the vendor tells them apart", async () => {
  async function body(vendorName: VendorName, more: Partial<ProviderOptions> = {}) {
    await using vendor = createVendor(vendorName);
    await createEmbeddingProvider(optionsFor(vendorName, vendor.url, more))
      .embed({ texts: ["what?"], purpose: "query", signal: neverAborted() });
    return vendor.requests[0]?.body;
  }

  assert.deepEqual(await body("voyage"), {
    model,
    input: ["what?"],
    input_type: "query",
    encoding_format: "base64",
  });
  assert.deepEqual(await body("gemini", { model: "gemini-embedding-001" }), {
    requests: [{
      model: "models/gemini-embedding-001",
      content: { parts: [{ text: "what?" }] },
      taskType: "RETRIEVAL_QUERY",
    }],
  });
  assert.deepEqual(await body("gemini", { model: "models/gemini-embedding-2" }), {
    requests: [{
      model: "models/gemini-embedding-2",
      content: { parts: [{ text: "task: search result | query: what?" }] },
    }],
  });
});

Deno.test("a document for Gemini's second embedding model names its task in the text", async () => {
  await using vendor = createVendor("gemini");
  await createEmbeddingProvider(optionsFor("gemini", vendor.url, { model: "gemini-embedding-2" }))
    .embed({ texts: ["a text"], purpose: "document", signal: neverAborted() });

  assert.deepEqual(vendor.requests[0]?.body, {
    requests: [{
      model: "models/gemini-embedding-2",
      content: { parts: [{ text: "title: none | text: a text" }] },
    }],
  });
});

Deno.test("without a system text none is sent", async () => {
  for (const vendorName of ["openai", "anthropic", "gemini", "ollama"] as const) {
    await using vendor = createVendor(vendorName);
    await createCompletionProvider(optionsFor(vendorName, vendor.url))
      .complete({ messages: [{ role: "user", content: "Hello?" }], signal: neverAborted() });

    assert.ok(!JSON.stringify(vendor.requests[0]?.body).includes("system"));
  }
});

Deno.test("Anthropic's base URL may name the version or leave it out", async () => {
  await using vendor = createVendor("anthropic", { key });
  for (const end of ["", "/", "/v1", "/v1/"]) {
    await createCompletionProvider(optionsFor("anthropic", `${vendor.url}${end}`)).ping(neverAborted());
  }

  assert.deepEqual(
    vendor.requests.map(({ path }) => path),
    Array.from({ length: 4 }, () => "/v1/models?limit=1"),
  );
});
