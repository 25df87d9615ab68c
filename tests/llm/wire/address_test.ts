import assert from "node:assert/strict";
import { createCompletionProvider, createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { key, neverAborted, optionsFor } from "./provider_subjects.ts";
import { createVendor } from "./vendors/vendor.ts";

async function detailOf(running: Promise<unknown>): Promise<string> {
  const thrown = await running.catch((thrown) => thrown);
  assert.ok(thrown instanceof ProviderError);
  return thrown.detail;
}

Deno.test("an address without /v1 is told as what may be wrong", async () => {
  await using vendor = createVendor("openai", { key });
  const host = vendor.url.replace(/\/v1$/, "");
  const signal = neverAborted();
  const messages = [{ role: "user", content: "?" }] as const;
  for (const base of [host, `${host}/`]) {
    const options = optionsFor("openai", base);
    assert.match(
      await detailOf(createCompletionProvider(options).complete({ messages, signal })),
      /^HTTP 404 for POST \/chat\/completions \(base_url has no path; most such servers need \/v1 at its end\): /,
    );
    assert.match(
      await detailOf(createEmbeddingProvider(options).embed({ texts: ["one"], purpose: "query", signal })),
      /^HTTP 404 for POST \/embeddings \(base_url has no path/,
    );
  }
  assert.match(
    await detailOf(createCompletionProvider(optionsFor("openai", `${host}/v2`)).ping(signal)),
    /^HTTP 404 for GET \/v2\/models: /,
  );
});
