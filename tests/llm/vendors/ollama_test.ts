import assert from "node:assert/strict";
import { createOllamaContext } from "../../../src/llm/vendors/ollama.ts";
import type { ProviderOptions } from "../../../src/llm/provider.ts";
import { createCompletionProvider } from "../../../src/llm/create_provider.ts";
import { optionsFor } from "../wire/provider_subjects.ts";
import { createVendor } from "../wire/vendors/vendor.ts";
import { never } from "../exchange_fixture.ts";
import { capturedLogger } from "../raw_server.ts";

function fixture(more: Partial<ProviderOptions> = {}) {
  const { logger, lines } = capturedLogger();
  return { windowFor: createOllamaContext({ kind: "ollama", model: "m", logger, ...more }), lines };
}

/** Each word is one token. */
const prompt = (words: number, system = "") => ({
  system,
  messages: [{ role: "user", content: "word ".repeat(words) }] as const,
});

Deno.test("the window holds prompt and answer, grows by steps and does not shrink", () => {
  const { windowFor } = fixture();
  assert.equal(windowFor(prompt(2)).size, 8192);
  assert.equal(windowFor(prompt(3_000)).size, 8192);
  assert.equal(windowFor(prompt(9_000)).size, 16_384);
  assert.equal(windowFor(prompt(2)).size, 16_384);
  assert.equal(fixture().windowFor(prompt(2, "語".repeat(9_000))).size, 16_384);
  assert.equal(fixture({ maxTokens: 16_000 }).windowFor(prompt(2)).size, 16_384);
  assert.equal(fixture({ maxTokens: 16_384 }).windowFor(prompt(2)).size, 24_576);
});

Deno.test("a prompt that is much longer than others changes no later window, and none is larger than 131,072", () => {
  const { windowFor } = fixture();
  assert.equal(windowFor(prompt(9_000)).size, 16_384);
  assert.equal(windowFor(prompt(40_000)).size, 57_344);
  assert.equal(windowFor(prompt(170_000)).size, 131_072);
  assert.equal(windowFor(prompt(2)).size, 16_384);
  assert.equal(windowFor(prompt(20_000)).size, 32_768);
  assert.equal(windowFor(prompt(2)).size, 32_768);
  const long = fixture({ maxTokens: 30_000 });
  assert.equal(long.windowFor(prompt(6_000)).size, 40_960);
  assert.equal(long.windowFor(prompt(2)).size, 40_960);
});

Deno.test("a configured window is the window", () => {
  assert.equal(fixture({ contextTokens: 5000 }).windowFor(prompt(100_000)).size, 5000);
});

Deno.test("a prompt of which far less was read than was sent is warned of", () => {
  const { windowFor, lines } = fixture();
  const { check } = windowFor(prompt(10_000));
  for (const readTokens of [undefined, 0, 6000, 13_000]) check(readTokens);
  assert.deepEqual(lines, []);
  check(4096);
  const { level, message, provider, readTokens } = JSON.parse(lines[0] ?? "");
  assert.deepEqual(
    [level, message, provider, readTokens],
    ["warn", "Ollama read only a part of the prompt", "ollama/m", 4096],
  );
});

Deno.test("the provider warns where a reply's own count is far below, streamed or not", async () => {
  await using vendor = createVendor("ollama");
  const { logger, lines } = capturedLogger();
  const provider = createCompletionProvider(optionsFor("ollama", vendor.url, { logger }));
  // the vendor counts 120 tokens whatever it is sent
  const request = { ...prompt(1_000), signal: never };
  await provider.complete(request);
  await Array.fromAsync(provider.stream(request));
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).message),
    ["Ollama read only a part of the prompt", "Ollama read only a part of the prompt"],
  );
});
