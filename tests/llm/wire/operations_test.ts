import assert from "node:assert/strict";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../../src/llm/create_provider.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { key, neverAborted, optionsFor } from "./provider_subjects.ts";
import { createVendor, type VendorName } from "./vendors/vendor.ts";

const unsupported = "the operation is not supported by the configured provider";
const messages = [{ role: "user", content: "What is it?" }] as const;
const completing = ["openai", "anthropic", "gemini", "ollama"] as const;

/** The place of each vendor's end mark after an answer in three pieces. */
const lastPiece = { openai: 6, anthropic: 8, gemini: 3, ollama: 3 };

/** How many texts each vendor takes in one request. */
const batches: readonly (readonly [VendorName, number])[] = [
  ["openai", 32],
  ["gemini", 100],
  ["voyage", 1000],
  ["ollama", 32],
];

for (const [vendorName, size] of batches) {
  Deno.test(`${vendorName} embedding: more texts than one request takes go out in several, in order`, async () => {
    await using vendor = createVendor(vendorName, { key, embed: (text) => [Number(text), 0.5] });
    const texts = Array.from({ length: 2 * size + 1 }, (_, index) => `${index}`);
    const { vectors, usage } = await createEmbeddingProvider(optionsFor(vendorName, vendor.url))
      .embed({ texts, purpose: "document", signal: neverAborted() });

    assert.deepEqual(vectors.map((vector) => vector[0]), texts.map(Number));
    assert.ok(vectors.every((vector) => vector instanceof Float32Array));
    assert.equal(usage.promptTokens, texts.length * 3);
    assert.equal(vendor.requests.length, 3);
  });

  Deno.test(`${vendorName} embedding: no texts cost no request`, async () => {
    await using vendor = createVendor(vendorName);
    const { vectors } = await createEmbeddingProvider(optionsFor(vendorName, vendor.url))
      .embed({ texts: [], purpose: "document", signal: neverAborted() });

    assert.deepEqual(vectors, []);
    assert.equal(vendor.requests.length, 0);
  });
}

Deno.test("voyage embedding: long texts go out few at a time", async () => {
  await using vendor = createVendor("voyage");
  const texts = Array.from({ length: 5 }, () => "word ".repeat(20_000));
  await createEmbeddingProvider(optionsFor("voyage", vendor.url))
    .embed({ texts, purpose: "document", signal: neverAborted() });

  assert.equal(vendor.requests.length, 3);
});

for (const vendorName of completing) {
  Deno.test(`${vendorName} stream: the pieces come as the vendor sends them, then one end`, async () => {
    await using vendor = createVendor(vendorName, { answer: ["It ", "is ", "42."] });
    const provider = createCompletionProvider(optionsFor(vendorName, vendor.url));
    const parts: unknown[] = [];
    for await (const part of provider.stream({ messages, signal: neverAborted() })) {
      parts.push(part.type === "text" ? part.text : part.type);
    }

    assert.deepEqual(parts, ["It ", "is ", "42.", "end"]);
  });

  Deno.test(`${vendorName} stream: a piece is read before the vendor sends the next`, async () => {
    const wasRead = Promise.withResolvers<void>();
    await using vendor = createVendor(vendorName, {
      answer: ["It ", "is ", "42."],
      // the last one is the vendor's end mark
      beforePiece: (index) => index === lastPiece[vendorName] ? wasRead.promise : Promise.resolve(),
    });
    const provider = createCompletionProvider(optionsFor(vendorName, vendor.url));
    let text = "";
    for await (const part of provider.stream({ messages, signal: neverAborted() })) {
      if (part.type === "text") text += part.text;
      if (text === "It is 42.") wasRead.resolve();
    }

    assert.equal(text, "It is 42.");
  });

  Deno.test(`${vendorName} stream: who stops listening closes the vendor's connection`, async () => {
    await using vendor = createVendor(vendorName, {
      answer: Array.from({ length: 50 }, () => "word "),
    });
    vendor.fail("stall in the body");
    const provider = createCompletionProvider(optionsFor(vendorName, vendor.url));
    for await (const part of provider.stream({ messages, signal: neverAborted() })) {
      if (part.type === "text") break;
    }

    await waitUntil("the connection is closed", () => vendor.openConnections() === 0);
  });

  Deno.test(`${vendorName} stream: text arrives before a stream that breaks does`, async () => {
    await using vendor = createVendor(vendorName, {
      answer: Array.from({ length: 50 }, () => "word "),
    });
    vendor.fail("reset in the body");
    const provider = createCompletionProvider(optionsFor(vendorName, vendor.url));
    let text = "";
    const listening = (async () => {
      for await (const part of provider.stream({ messages, signal: neverAborted() })) {
        assert.equal(part.type, "text");
        if (part.type === "text") text += part.text;
      }
    })();

    await assert.rejects(listening, { message: "the provider could not be reached" });
    assert.match(text, /^(word ){5,}$/);
    assert.equal(vendor.requests.length, 1);
  });

  Deno.test(`${vendorName}: the name is the kind and the model`, () => {
    const provider = createCompletionProvider(optionsFor(vendorName, "http://127.0.0.1:1", { model: "m-1" }));

    assert.equal(provider.name, `${vendorName}/m-1`);
  });
}

Deno.test("no documents cost no request for a rerank", async () => {
  await using vendor = createVendor("voyage");
  const provider = createRerankProvider(optionsFor("voyage", vendor.url));
  const { results } = await provider.rerank({ query: "what?", documents: [], signal: neverAborted() });

  assert.deepEqual(results, []);
  assert.equal(vendor.requests.length, 0);
});

Deno.test("a rerank ranks all documents where no number is given", async () => {
  await using vendor = createVendor("rerank");
  const provider = createRerankProvider(optionsFor("rerank", vendor.url));
  const { results } = await provider.rerank({ query: "b", documents: ["a", "b"], signal: neverAborted() });

  assert.deepEqual(results, [{ index: 1, score: 1 }, { index: 0, score: 0 }]);
});

Deno.test("a kind that lacks an operation says so when it is asked, and not before", async () => {
  const signal = neverAborted();
  const url = "http://127.0.0.1:1";
  const voyage = createCompletionProvider(optionsFor("voyage", url));
  const anthropic = createEmbeddingProvider(optionsFor("anthropic", url));
  const rerankers = (["openai", "anthropic", "gemini", "ollama"] as const).map((kind) =>
    createRerankProvider(optionsFor(kind, url))
  );

  await assert.rejects(voyage.complete({ messages, signal }), {
    message: unsupported,
    detail: "voyage offers no completions",
  });
  await assert.rejects(async () => {
    for await (const _ of voyage.stream({ messages, signal })) assert.fail("there is nothing to say");
  }, { message: unsupported });
  await assert.rejects(anthropic.embed({ texts: ["one"], purpose: "query", signal }), {
    message: unsupported,
    detail: "anthropic offers no embeddings",
  });
  for (const reranker of rerankers) {
    await assert.rejects(reranker.rerank({ query: "what?", documents: ["one"], signal }), {
      message: unsupported,
    });
  }
});

Deno.test("kind local answers without a key or a network", async () => {
  const signal = neverAborted();
  const options = optionsFor("openai", "http://127.0.0.1:1", { kind: "local", apiKey: () => undefined });
  const { vectors } = await createEmbeddingProvider(options)
    .embed({ texts: ["one"], purpose: "query", signal });

  assert.equal(vectors.length, 1);
  await assert.rejects(
    createRerankProvider(options).rerank({ query: "what?", documents: ["one"], signal }),
    { message: unsupported },
  );
  await createCompletionProvider(options).ping(signal);
});
