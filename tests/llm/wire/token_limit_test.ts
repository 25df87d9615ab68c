import assert from "node:assert/strict";
import { createCompletionProvider } from "../../../src/llm/create_provider.ts";
import { neverAborted, optionsFor } from "./provider_subjects.ts";

interface LimitServer extends Disposable {
  readonly url: string;
  /** The names under which the longest answer came, request by request. */
  readonly names: string[];
}

/** A server with OpenAI's interface that takes the longest answer under one name alone. */
function startServer(taken: string, refusal: (name: string) => string): LimitServer {
  const names: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const body = await request.json();
    const name = ["max_tokens", "max_completion_tokens"].find((name) => name in body) ?? "none";
    names.push(name);
    if (name !== taken) return Response.json({ error: { message: refusal(name) } }, { status: 400 });
    if (!body.stream) return Response.json({ choices: [{ message: { content: "Yes." } }] });
    const chunk = JSON.stringify({ choices: [{ delta: { content: "Yes." } }] });
    return new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    names,
    [Symbol.dispose]: () => void server.shutdown(),
  };
}

const request = () => ({ messages: [{ role: "user", content: "?" }] as const, signal: neverAborted() });
const unsupported = (name: string) =>
  `Unsupported parameter: '${name}' is not supported with this model. Use 'max_completion_tokens' instead.`;
const unknown = (name: string) => `Unrecognized request argument supplied: ${name}`;

Deno.test("the longest answer goes under the name that the model takes, whatever the host", async () => {
  for (
    const [model, name] of [
      ["openai/gpt-5-mini", "max_completion_tokens"],
      ["o4-mini", "max_completion_tokens"],
      ["gpt-4o", "max_tokens"],
      ["mistral-large", "max_tokens"],
    ] as const
  ) {
    using server = startServer(name, unsupported);
    const provider = createCompletionProvider(optionsFor("openai", server.url, { model, maxTokens: 9 }));
    await provider.complete(request());
    await Array.fromAsync(provider.stream(request()));
    assert.deepEqual(server.names, [name, name], model);
  }
});

Deno.test("a server that asks for the other name gets it at once, and from then on", async () => {
  for (
    const [model, wrong, right, refusal] of [
      ["my-deployment", "max_tokens", "max_completion_tokens", unsupported],
      ["gpt-5", "max_completion_tokens", "max_tokens", unknown],
    ] as const
  ) {
    for (const operation of ["complete", "stream"] as const) {
      using server = startServer(right, refusal);
      const provider = createCompletionProvider(optionsFor("openai", server.url, { model, maxTokens: 9 }));
      const ask = () =>
        operation === "complete" ? provider.complete(request()) : Array.fromAsync(provider.stream(request()));
      await ask();
      await ask();
      assert.deepEqual(server.names, [wrong, right, right], `${model} ${operation}`);
    }
  }
});

Deno.test("a refusal of another kind is not sent again", async () => {
  for (
    const refusal of [
      "max_tokens is too large: 9. This model takes at most 4",
      "'max_tokens' or 'max_completion_tokens' is too large: 9. This model's maximum context length is 8",
      "max_tokens: 9 > 4, which is the maximum; 'temperature' is not supported",
    ]
  ) {
    using server = startServer("neither", () => refusal);
    const provider = createCompletionProvider(optionsFor("openai", server.url, { maxTokens: 9 }));
    await assert.rejects(provider.complete(request()), { kind: "invalid_request" });
    await assert.rejects(Array.fromAsync(provider.stream(request())), { kind: "invalid_request" });
    assert.equal(server.names.length, 2, refusal);
  }
});

Deno.test("a server that refuses both names is told of by its first refusal", async () => {
  using server = startServer("neither", (name) => `${name} is not allowed`);
  const provider = createCompletionProvider(optionsFor("openai", server.url, { maxTokens: 9 }));
  const refused = { kind: "invalid_request", detail: /max_tokens is not allowed/ };
  await assert.rejects(provider.complete(request()), refused);
  await assert.rejects(Array.fromAsync(provider.stream(request())), refused);
  assert.deepEqual(server.names, [
    "max_tokens",
    "max_completion_tokens",
    "max_tokens",
    "max_completion_tokens",
  ]);
});
