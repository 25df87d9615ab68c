import assert from "node:assert/strict";
import { optionsFor, type Subject, subjects } from "./provider_subjects.ts";

const usage = { completionTokens: 0, cacheCreationInputTokens: 0, cacheReadInputTokens: 0 };

/** A reply as a vendor's documentation allows it, or as no vendor should send it. */
interface OddReply {
  readonly title: string;
  readonly subject: string;
  /** JSON, or the text of a stream. */
  readonly reply: unknown;
  /** What comes of it, or the detail of the error. */
  readonly result: Record<string, unknown> | RegExp;
}

function events(...values: readonly unknown[]): string {
  return values.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\r\n\r\n`)
    .join("");
}

function lines(...values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

const text = (text: string) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
});
const start = { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } };
const stop = { type: "message_stop" };

const hugeReplies = ["openai", "anthropic", "gemini", "ollama"].map((vendor): OddReply => ({
  title: "more than any model writes",
  subject: `${vendor} completion`,
  reply: { padding: "x".repeat(4 * 1024 * 1024) },
  result: /^the reply is over 4 MiB$/,
}));

const replies: readonly OddReply[] = [
  ...hugeReplies,
  {
    title: "a refusal in words is an answer",
    subject: "openai completion",
    reply: {
      choices: [{ message: { content: null, refusal: "I will not." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    },
    result: { text: "I will not.", isCut: false, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "a server that counts no tokens",
    subject: "openai completion",
    reply: { choices: [{ message: { content: "Yes." } }] },
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "what the content filter left",
    subject: "openai completion",
    reply: { choices: [{ message: { content: "Half" }, finish_reason: "content_filter" }] },
    result: /^the answer was broken off: content_filter$/,
  },
  {
    title: "no choices",
    subject: "openai completion",
    reply: { choices: [] },
    result: /^the answer is empty: it holds no text$/,
  },
  {
    title: "an error with a status of success",
    subject: "openai completion",
    reply: { error: { code: 429, message: "Slow down" } },
    result: /^an error within the reply: 429 Slow down$/,
  },
  {
    title: "a choice of another shape",
    subject: "openai completion",
    reply: { choices: [{ message: { content: 42 } }] },
    result: /^the reply has an unexpected shape: choices\.0\.message\.content: /,
  },
  {
    title: "the longest answer used up by thinking",
    subject: "openai completion",
    reply: { choices: [{ message: { content: "" }, finish_reason: "length" }] },
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "the longest answer used up by thinking",
    subject: "openai stream",
    reply: events({ choices: [{ delta: { reasoning_content: "Hm" }, finish_reason: "length" }] }, "[DONE]"),
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "the longest answer used up by thinking",
    subject: "anthropic completion",
    reply: {
      content: [{ type: "thinking", thinking: "Hm." }],
      stop_reason: "max_tokens",
      usage: { input_tokens: 3, output_tokens: 2 },
    },
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "the longest answer used up by thinking",
    subject: "anthropic stream",
    reply: events(
      start,
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 2 } },
      stop,
    ),
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "the longest answer used up by thinking",
    subject: "gemini completion",
    reply: {
      candidates: [{ content: { parts: [{ text: "Hm.", thought: true }] }, finishReason: "MAX_TOKENS" }],
      usageMetadata: { promptTokenCount: 3, thoughtsTokenCount: 2 },
    },
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "the longest answer used up by thinking",
    subject: "ollama completion",
    reply: {
      message: { content: "", thinking: "Hm." },
      done: true,
      done_reason: "length",
      prompt_eval_count: 3,
      eval_count: 2,
    },
    result: { text: "", isCut: true, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "an answer in parts, with thoughts among them",
    subject: "openai completion",
    reply: {
      choices: [{
        message: {
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
            { type: "text", text: "Yes" },
            { type: "reference", reference_ids: [1] },
            { type: "reasoning", text: "So it is." },
            { type: "text", text: "." },
          ],
        },
        finish_reason: "stop",
      }],
    },
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "a stream in parts, with thoughts among them",
    subject: "openai stream",
    reply: events(
      {
        choices: [{ delta: { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] } }],
      },
      { choices: [{ delta: { content: [{ type: "text", text: "Yes" }] } }] },
      { choices: [{ delta: { content: "." }, finish_reason: "stop" }] },
      "[DONE]",
    ),
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "a stream whose last chunk has no choices, and comments between its events",
    subject: "openai stream",
    reply: events({ choices: [{ delta: { content: "Yes." } }] }) + ": keep-alive\r\n\r\n" +
      events({ choices: null, usage: { prompt_tokens: 3, completion_tokens: 2 } }, "[DONE]"),
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "a stream that the content filter ended",
    subject: "openai stream",
    reply: events({ choices: [{ delta: { content: "Half" }, finish_reason: "content_filter" }] }, "[DONE]"),
    result: /^the answer was broken off: content_filter$/,
  },
  {
    title: "thinking is no part of the answer",
    subject: "anthropic completion",
    reply: {
      content: [{ type: "thinking", thinking: "Hm." }, { type: "text", text: "Yes" }, {
        type: "text",
        text: ".",
      }],
      stop_reason: "end_turn",
      usage: {
        input_tokens: 3,
        output_tokens: 2,
        cache_creation_input_tokens: null,
        service_tier: "standard",
      },
    },
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "the whole context window was used",
    subject: "anthropic completion",
    reply: {
      content: [{ type: "text", text: "Yes" }],
      stop_reason: "model_context_window_exceeded",
      usage: { input_tokens: 3, output_tokens: 2 },
    },
    result: { text: "Yes", isCut: true, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "the model declined",
    subject: "anthropic completion",
    reply: { content: [], stop_reason: "refusal", usage: { input_tokens: 3, output_tokens: 0 } },
    result: /^the model declined to answer: refusal$/,
  },
  {
    title: "the model declined after it had begun",
    subject: "anthropic stream",
    reply: events(start, text("Half"), { type: "message_delta", delta: { stop_reason: "refusal" } }, stop),
    result: /^the model declined to answer: refusal$/,
  },
  {
    title: "later counts are totals, and nulls among them change nothing",
    subject: "anthropic stream",
    reply: events(
      start,
      { type: "an_event_of_next_year", index: 0 },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      text("Yes."),
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { input_tokens: null, cache_read_input_tokens: 10, output_tokens: 5 },
      },
      stop,
    ),
    result: {
      text: "Yes.",
      isCut: false,
      usage: { ...usage, promptTokens: 13, completionTokens: 5, cacheReadInputTokens: 10 },
    },
  },
  {
    title: "a rate limit within the stream",
    subject: "anthropic stream",
    reply: events(start, text("Half"), {
      type: "error",
      error: { type: "rate_limit_error", message: "Slow down" },
    }),
    result: /^an error within the reply: rate_limit_error Slow down$/,
  },
  {
    title: "a blocked prompt",
    subject: "gemini completion",
    reply: { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } },
    result: /^the prompt was blocked: SAFETY$/,
  },
  {
    title: "an answer that was broken off for safety",
    subject: "gemini completion",
    reply: { candidates: [{ content: { parts: [{ text: "Half" }] }, finishReason: "SAFETY" }] },
    result: /^the answer was broken off: SAFETY$/,
  },
  {
    title: "a stream whose last item holds counts alone",
    subject: "gemini stream",
    reply: events(
      { candidates: [{ content: { parts: [{ text: "Yes." }] } }] },
      {
        candidates: [{ finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
      },
    ),
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 3, completionTokens: 2 } },
  },
  {
    title: "a stream that was broken off for what it recites",
    subject: "gemini stream",
    reply: events(
      { candidates: [{ content: { parts: [{ text: "Half" }] } }] },
      { candidates: [{ finishReason: "RECITATION" }] },
    ),
    result: /^the answer was broken off: RECITATION$/,
  },
  {
    title: "an error on the last line",
    subject: "ollama stream",
    reply: lines({ message: { content: "Half" }, done: false }, { error: "the model crashed" }),
    result: /^an error within the reply: the model crashed$/,
  },
  {
    title: "a prompt that was in memory is not counted",
    subject: "ollama completion",
    reply: { message: { content: "Yes.", thinking: "Hm." }, done: true, done_reason: "stop", eval_count: 2 },
    result: { text: "Yes.", isCut: false, usage: { ...usage, promptTokens: 0, completionTokens: 2 } },
  },
  {
    title: "numbers put the vectors in order",
    subject: "openai embedding",
    reply: { data: [{ index: 1, embedding: [3, 4] }, { index: 0, embedding: [1, 2] }] },
    result: { vectors: [[1, 2], [3, 4]], usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "one number twice",
    subject: "openai embedding",
    reply: { data: [{ index: 0, embedding: [3, 4] }, { index: 0, embedding: [1, 2] }] },
    result: /^the reply has 2 embeddings, and index 0 is wrong or repeated$/,
  },
  {
    title: "vectors of two lengths",
    subject: "ollama embedding",
    reply: { embeddings: [[3], [1, 2]] },
    result: /^an embedding has 2 dimensions instead of 1$/,
  },
  {
    title: "vectors of no length",
    subject: "ollama embedding",
    reply: { embeddings: [[], []] },
    result: /^an embedding has 0 dimensions instead of 0$/,
  },
  {
    title: "a number beyond 32 bits",
    subject: "gemini embedding",
    reply: { embeddings: [{ values: [1, 1e300] }, { values: [1, 2] }] },
    result: /^an embedding holds a value that is not a finite number$/,
  },
  {
    title: "numbers in quotes",
    subject: "gemini embedding",
    reply: { embeddings: [{ values: ["1", "2"] }, { values: [1, 2] }] },
    result: /^an embedding holds a value that is not a finite number$/,
  },
  {
    title: "base64 of half a number",
    subject: "voyage embedding",
    reply: { data: [{ index: 0, embedding: "AAA=" }, { index: 1, embedding: "AACAPw==" }] },
    result: /^an embedding of 2 bytes is not a list of floats$/,
  },
  {
    title: "a list where base64 was asked for",
    subject: "voyage embedding",
    reply: { data: [{ index: 0, embedding: [0.5] }, { index: 1, embedding: "AACAPw==" }] },
    result: { vectors: [[0.5], [1]], usage: { ...usage, promptTokens: 0 } },
  },
  {
    title: "more results than were wanted, and out of order",
    subject: "rerank rerank",
    reply: {
      results: [
        { index: 0, relevance_score: 0.1 },
        { index: 2, relevance_score: 0.9 },
        { index: 1, relevance_score: 0.5 },
      ],
      usage: { total_tokens: 21 },
    },
    result: {
      results: [{ index: 2, score: 0.9 }, { index: 1, score: 0.5 }],
      usage: { ...usage, promptTokens: 21 },
    },
  },
  {
    title: "a document that was not sent",
    subject: "rerank rerank",
    reply: { results: [{ index: 3, relevance_score: 0.1 }, { index: 2, relevance_score: 0.9 }] },
    result: /^the reply ranks document 3 of 3, which does not exist or was ranked before$/,
  },
  {
    title: "one document twice",
    subject: "voyage rerank",
    reply: { data: [{ index: 1, relevance_score: 0.1 }, { index: 1, relevance_score: 0.9 }] },
    result: /^the reply ranks document 1 of 3, which does not exist or was ranked before$/,
  },
  {
    title: "fewer results than were wanted",
    subject: "voyage rerank",
    reply: { data: [{ index: 1, relevance_score: 0.1 }] },
    result: /^the reply ranks 1 documents instead of 2$/,
  },
];

for (const { title, subject, reply, result } of replies) {
  Deno.test(`${subject}: ${title}`, async () => {
    const asked = subjectNamed(subject);
    await using server = serve(reply);
    const running = asked.run(optionsFor(asked.vendor, `http://127.0.0.1:${server.addr.port}`));

    if (result instanceof RegExp) await assert.rejects(running, { name: "AppError", detail: result });
    else assert.deepEqual(await running, result);
  });
}

function subjectNamed(name: string): Subject {
  const found = subjects.find((subject) => subject.name === name);
  assert.ok(found, name);
  return found;
}

function serve(reply: unknown): Deno.HttpServer<Deno.NetAddr> {
  const answer = () => typeof reply === "string" ? new Response(reply) : Response.json(reply);
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
}
