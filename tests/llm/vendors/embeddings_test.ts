import assert from "node:assert/strict";
import { type BatchedEmbedding, embedInBatches } from "../../../src/llm/vendors/embeddings.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

function request(texts: readonly string[], signal = new AbortController().signal) {
  return { texts, purpose: "document", signal } as const;
}

function embedding(embed: BatchedEmbedding["embed"], texts = 2, bytes = 1000): BatchedEmbedding {
  return { limits: { texts, bytes }, embed };
}

const asNumbers: BatchedEmbedding["embed"] = (texts) =>
  Promise.resolve({ vectors: texts.map((text) => Float32Array.of(Number(text))), promptTokens: 10 });

Deno.test("embedInBatches() keeps the order when later batches are faster", async () => {
  const late = Promise.withResolvers<void>();
  const { vectors, usage } = await embedInBatches(
    request(numbered(7)),
    embedding(async (texts, signal) => {
      if (texts[0] === "0") await late.promise;
      if (texts[0] === "6") late.resolve();
      return await asNumbers(texts, signal);
    }),
  );

  assert.deepEqual(vectors.map((vector) => vector[0]), [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(usage.promptTokens, 40);
});

Deno.test("embedInBatches() runs four batches at a time", async () => {
  let running = 0;
  let most = 0;
  await embedInBatches(
    request(numbered(40)),
    embedding(async (texts, signal) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return await asNumbers(texts, signal);
    }),
  );

  assert.equal(most, 4);
});

Deno.test("embedInBatches() ends the other batches when one fails, and waits for their end", async () => {
  const fault = new ProviderError("rate_limit", "slow down");
  const ended: unknown[] = [];
  let asked = 0;
  const running = embedInBatches(
    request(numbered(40)),
    embedding((_, signal) => {
      if (++asked === 4) return Promise.reject(fault);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          ended.push(signal.reason);
          reject(signal.reason);
        })
      );
    }),
  );

  await assert.rejects(running, (error) => error === fault);
  assert.deepEqual(ended, [fault, fault, fault]);
  assert.equal(asked, 4);
});

Deno.test("embedInBatches() throws the signal's reason", async () => {
  const controller = new AbortController();
  const reason = new Error("gone");
  const running = embedInBatches(
    request(["1"], controller.signal),
    embedding((_, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    ),
  );
  controller.abort(reason);

  await assert.rejects(running, (error) => error === reason);
});

Deno.test("embedInBatches() cuts batches at a number of bytes of UTF-8", async () => {
  const sizes: number[] = [];
  await embedInBatches(
    request(["éé", "éé", "é", "x".repeat(50), "a"]),
    embedding(
      (texts) => {
        sizes.push(texts.length);
        return Promise.resolve({ vectors: texts.map(() => Float32Array.of(1)), promptTokens: 0 });
      },
      100,
      9,
    ),
  );

  assert.deepEqual(sizes, [2, 1, 1, 1]);
});

Deno.test("embedInBatches() refuses lengths that differ between batches, and those not asked for", async () => {
  const grown = embedding(
    (texts) => Promise.resolve({ vectors: [new Float32Array(texts[0] === "0" ? 2 : 3)], promptTokens: 0 }),
    1,
  );

  await assert.rejects(embedInBatches(request(["0", "1"]), grown), {
    kind: "provider",
    detail: "an embedding has 3 dimensions instead of 2",
  });
  // the one that differs is told, wherever it stands
  await assert.rejects(embedInBatches(request(["1", "0", "1"]), grown), {
    kind: "provider",
    detail: "an embedding has 2 dimensions instead of 3",
  });
  await assert.rejects(embedInBatches(request(["0"]), { ...grown, dimensions: 4 }), {
    kind: "provider",
    detail: "an embedding has 2 dimensions instead of 4",
  });
});
