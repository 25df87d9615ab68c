import assert from "node:assert/strict";
import { isOpenaiThinker, longestAnswer } from "../../src/llm/read_completion.ts";

Deno.test("OpenAI's models that think are known by their names, with whatever stands before them", () => {
  const thinkers = [
    "o1",
    "o3-mini",
    "o4-mini-2025-04-16",
    "gpt-5",
    "gpt-5.6-sol",
    "gpt-6-luna",
    "gpt-6.1-terra",
    "gpt-12",
    "openai/gpt-5-mini",
    "openai.gpt-5",
    "azure:o3",
  ];
  const others = [
    "gpt-4o",
    "gpt-4.1-mini",
    "gpt-3.5-turbo",
    "gpt-35-turbo",
    "gpt-oss-120b",
    "olmo-3",
    "llama-o1x",
    "mistral-large",
  ];
  assert.deepEqual(thinkers.filter((name) => !isOpenaiThinker(name)), []);
  assert.deepEqual(others.filter(isOpenaiThinker), []);
});

Deno.test("models that think may answer at length, and none is asked for more than it takes", () => {
  assert.equal(longestAnswer("anthropic", "claude-sonnet-5-5"), 16_000);
  assert.equal(longestAnswer("gemini", "gemini-3.8-flash"), 16_000);
  assert.equal(longestAnswer("openai", "gpt-6-luna"), 16_000);
  assert.equal(longestAnswer("openai", "qwen3"), 4096);
  assert.equal(longestAnswer("ollama", "llama3.2"), 4096);
  assert.equal(longestAnswer("anthropic", "claude-sonnet-5-5", 40_000), 40_000);
  assert.equal(longestAnswer("anthropic", "claude-3-haiku-20240307"), 4096);
  assert.equal(longestAnswer("openai", "anthropic/claude-3-5-sonnet", 16_000), 8192);
  assert.equal(longestAnswer("openai", "gpt-4o", 32_000), 16_384);
  assert.equal(longestAnswer("openai", "gpt-4-turbo", 100), 100);
});
