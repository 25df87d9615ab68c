import assert from "node:assert/strict";
import { createCompletionProvider } from "../../../src/llm/create_provider.ts";
import type { Usage } from "../../../src/llm/provider.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { capturedLogger } from "../raw_server.ts";
import { neverAborted, optionsFor } from "./provider_subjects.ts";

const usage = { input_tokens: 3, output_tokens: 0 };
const invalid = "the provider rejected the request as invalid";
const failed = "the provider returned an error";

const replies = [
  ["anthropic", 200, { content: [], stop_reason: "refusal", usage }, "declined", invalid],
  ["anthropic", 200, { content: [], stop_reason: "end_turn", usage }, "empty", failed],
  ["openai", 200, { choices: [{ message: {}, finish_reason: "content_filter" }] }, "declined", invalid],
  ["openai", 200, { choices: [{ message: { content: "" } }] }, "empty", failed],
  ["openai", 400, { error: { code: "content_filter", message: "filtered" } }, "declined", invalid],
  ["gemini", 200, { promptFeedback: { blockReason: "SAFETY" } }, "declined", invalid],
  ["gemini", 200, { candidates: [{ finishReason: "RECITATION" }] }, "declined", invalid],
  ["gemini", 200, { candidates: [{ finishReason: "STOP" }] }, "empty", failed],
  ["ollama", 200, { message: { content: "" }, done: true, done_reason: "stop" }, "empty", failed],
] as const;

for (const [vendor, status, reply, noAnswer, message] of replies) {
  Deno.test(`${vendor}: ${JSON.stringify(reply)} is ${noAnswer}, and shuts nobody out`, async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => Response.json(reply, { status }),
    );
    const { logger, lines } = capturedLogger();
    let promptTokens = 0;
    const onUsage = (told: Usage) => void (promptTokens += told.promptTokens);
    const provider = createCompletionProvider(
      optionsFor(vendor, `http://127.0.0.1:${server.addr.port}`, { logger, onUsage }),
    );
    for (let count = 0; count < 6; count++) {
      const asked = provider.complete({
        messages: [{ role: "user", content: "?" }],
        signal: neverAborted(),
      });
      const thrown = await asked.catch((thrown) => thrown);
      assert.ok(thrown instanceof ProviderError);
      assert.deepEqual([thrown.noAnswer, thrown.message], [noAnswer, message]);
      assert.doesNotMatch(thrown.detail, /^not tried/);
    }
    assert.ok(!lines.some((line) => line.includes("circuit opened")));
    assert.equal(promptTokens, 6 * ("usage" in reply ? usage.input_tokens : 0));
    await server.shutdown();
  });
}
