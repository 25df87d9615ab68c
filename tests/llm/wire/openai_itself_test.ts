import assert from "node:assert/strict";
import { createCompletionProvider, createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import type { ProviderOptions } from "../../../src/llm/provider.ts";
import { key, neverAborted, optionsFor } from "./provider_subjects.ts";
import { createVendor } from "./vendors/vendor.ts";

/** Sends what is meant for OpenAI's own address to a vendor on this machine. */
function redirectOpenai(url: string, host = "api.openai.com"): Disposable {
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    assert.ok(request.url.startsWith(`https://${host}/v1/`));
    return await original(request.url.replace(`https://${host}/v1`, url), {
      method: request.method,
      headers: request.headers,
      body: await request.text(),
      signal: request.signal,
    });
  };
  return { [Symbol.dispose]: () => void (globalThis.fetch = original) };
}

function openai(more: Partial<ProviderOptions>): ProviderOptions {
  const { baseUrl: _, ...options } = optionsFor("openai", "", more);
  return options;
}

Deno.test("OpenAI itself gets the name of the longest answer that its newer models take", async () => {
  await using vendor = createVendor("openai", { key });
  using _ = redirectOpenai(vendor.url);
  const provider = createCompletionProvider(openai({ model: "gpt-5", maxTokens: 9 }));
  await provider.complete({ messages: [{ role: "user", content: "Hello?" }], signal: neverAborted() });

  assert.deepEqual(vendor.requests[0]?.body, {
    model: "gpt-5",
    messages: [{ role: "user", content: "Hello?" }],
    max_completion_tokens: 9,
  });
});

Deno.test("OpenAI itself is asked for embeddings as base64, 512 at a time", async () => {
  await using vendor = createVendor("openai", { key, embed: (text) => [Number(text), 0.5] });
  using _ = redirectOpenai(vendor.url);
  const provider = createEmbeddingProvider(openai({ model: "text-embedding-3-small", dimensions: 2 }));
  const texts = Array.from({ length: 600 }, (_, index) => `${index}`);
  const { vectors, usage } = await provider.embed({ texts, purpose: "document", signal: neverAborted() });

  assert.deepEqual(vectors.map((vector) => [...vector]), texts.map((text) => [Number(text), 0.5]));
  assert.equal(usage.promptTokens, 1800);
  assert.equal(vendor.requests.length, 2);
  assert.deepEqual(vendor.requests[0]?.body, {
    model: "text-embedding-3-small",
    input: texts.slice(0, 512),
    dimensions: 2,
    encoding_format: "base64",
  });
});

Deno.test("OpenAI's regions are OpenAI itself", async () => {
  await using vendor = createVendor("openai", { key });
  using _ = redirectOpenai(vendor.url, "eu.api.openai.com");
  const provider = createEmbeddingProvider(
    optionsFor("openai", "https://eu.api.openai.com/v1", { model: "text-embedding-3-small" }),
  );
  await provider.embed({ texts: ["one"], purpose: "query", signal: neverAborted() });

  assert.deepEqual(vendor.requests[0]?.body, {
    model: "text-embedding-3-small",
    input: ["one"],
    encoding_format: "base64",
  });
});

Deno.test("OpenAI itself needs a key", async () => {
  const provider = createCompletionProvider(openai({ apiKey: () => undefined }));

  await assert.rejects(provider.ping(neverAborted()), {
    message: "the provider rejected the server's credentials",
    detail: "no API key for openai is configured",
  });
});
