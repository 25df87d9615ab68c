import assert from "node:assert/strict";
import { openCompletion } from "../../../src/app/providers/open_providers.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import type { CompletionProvider } from "../../../src/llm/provider.ts";
import { optionsFor } from "../../config/load_options.ts";
import { capturedLogger } from "../../llm/raw_server.ts";
import { neverAborted } from "../../llm/wire/provider_subjects.ts";
import { createVendor, type Vendor } from "../../llm/wire/vendors/vendor.ts";

const request = () => ({ messages: [{ role: "user", content: "?" }] as const, signal: neverAborted() });

async function withCompletion(text: string, use: (completion: CompletionProvider) => Promise<void>) {
  const { logger } = capturedLogger();
  const files = createFileWatch();
  try {
    const { config } = await loadConfig(optionsFor(text));
    await using opened = await openCompletion({ config, files, logger });
    assert.ok(opened);
    await use(opened.completion);
  } finally {
    files[Symbol.dispose]();
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

const lastBody = ({ requests }: Vendor) => requests.at(-1)?.body;

Deno.test("a provider that hangs leaves its fallback a share of the request's time", async () => {
  await using first = createVendor("openai");
  await using second = createVendor("openai");
  first.fail("stall before the headers");
  const text =
    `llm: { provider: openai, model: m, openai_base_url: "${first.url}", request_timeout: 600ms,\n` +
    `  fallback: [{ provider: openai, model: m, base_url: "${second.url}" }] }\n`;
  await withCompletion(text, async (completion) => {
    assert.equal((await completion.complete(request())).text, "It is 42.");
  });
});

Deno.test("Anthropic's model and its longest answer have defaults that go together", async () => {
  await using vendor = createVendor("anthropic");
  const text = `llm: { provider: anthropic, anthropic_base_url: "${vendor.url}", anthropic_api_key: k }\n`;
  await withCompletion(text, async (completion) => {
    await completion.complete(request());
    assert.equal(memberOf(lastBody(vendor), "model"), "claude-sonnet-5-5");
    assert.equal(memberOf(lastBody(vendor), "max_tokens"), 16_000);
  });
});

Deno.test("Ollama gets the configured window, and a fallback its own", async () => {
  await using first = createVendor("ollama");
  await using second = createVendor("ollama");
  const text = `llm: { provider: ollama, model: m, ollama_url: "${first.url}", context_tokens: 12000,\n` +
    `  fallback: [{ provider: ollama, model: m, base_url: "${second.url}", context_tokens: 9000 }] }\n`;
  await withCompletion(text, async (completion) => {
    await completion.complete(request());
    assert.deepEqual(memberOf(lastBody(first), "options"), { num_ctx: 12_000, num_predict: 4096 });
    first.fail(400);
    await completion.complete(request());
    assert.deepEqual(memberOf(lastBody(second), "options"), { num_ctx: 9000, num_predict: 4096 });
  });
});
