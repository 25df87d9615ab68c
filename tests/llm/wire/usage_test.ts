import assert from "node:assert/strict";
import { createCompletionProvider, createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import { noUsage, type ProviderOptions, type Usage } from "../../../src/llm/provider.ts";
import { countTokens } from "../../../src/text/token_count.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { neverAborted, optionsFor, subjects } from "./provider_subjects.ts";
import { createVendor, type Vendor, type VendorName } from "./vendors/vendor.ts";
import { usageTeller } from "../../../src/llm/usage.ts";

/** What a provider told of its use, and the options that have it tell. */
function meter(vendor: VendorName, { url }: Vendor): { reports: Usage[]; options: ProviderOptions } {
  const reports: Usage[] = [];
  return { reports, options: optionsFor(vendor, url, { onUsage: (usage) => void reports.push(usage) }) };
}

function promptTokens(reports: readonly Usage[]): number {
  return reports.reduce((sum, usage) => sum + usage.promptTokens, 0);
}

const asked = { messages: [{ role: "user", content: "What is it?" }] as const, signal: neverAborted() };

for (const subject of subjects) {
  Deno.test(`${subject.name}: what is used is told once, and is what the reply says`, async () => {
    await using vendor = createVendor(subject.vendor);
    const { reports, options } = meter(subject.vendor, vendor);
    const { usage } = await subject.run(options);
    assert.ok(usage.promptTokens > 0);
    assert.deepEqual(reports, [usage]);
  });
}

for (
  const subject of subjects.filter(({ operation }) => operation === "completion" || operation === "stream")
) {
  Deno.test(`${subject.name}: an empty answer costs what it costs`, async () => {
    await using vendor = createVendor(subject.vendor);
    const { reports, options } = meter(subject.vendor, vendor);
    vendor.fail("empty answer");
    await assert.rejects(subject.run(options));
    assert.equal(promptTokens(reports), 120 * vendor.requests.length);
  });
}

// the vendors that count a prompt before the answer begins
for (const name of ["anthropic", "gemini"] as const) {
  Deno.test(`${name}: a stream that nobody reads to its end, or that breaks, costs its prompt`, async () => {
    await using vendor = createVendor(name, { answer: ["one ", "two ", "three"] });
    const { reports, options } = meter(name, vendor);
    for await (const { type } of createCompletionProvider(options).stream(asked)) if (type === "text") break;
    assert.equal(promptTokens(reports), 120);
    vendor.fail("no end mark");
    await assert.rejects(Array.fromAsync(createCompletionProvider(options).stream(asked)));
    assert.equal(promptTokens(reports), 240);
  });
}

for (const subject of subjects) {
  Deno.test(`${subject.name}: a caller who leaves before the reply is told an estimate`, async () => {
    await using vendor = createVendor(subject.vendor);
    const { reports, options } = meter(subject.vendor, vendor);
    vendor.fail("stall before the headers");
    const gone = new AbortController();
    const told: Usage[] = [];
    const run = subject.run(options, gone.signal, (usage) => void told.push(usage));
    await waitUntil("it is asked", () => vendor.requests.length === 1);
    gone.abort();
    await assert.rejects(run);
    assert.deepEqual(told.map((usage) => usage.promptTokens > 0 && usage.completionTokens === 0), [true]);
    // the provider's bill is what the provider says it is
    assert.equal(promptTokens(reports), 0);
    // who was gone before anything was sent has cost nothing
    await assert.rejects(subject.run(options, gone.signal, (usage) => void told.push(usage)));
    assert.deepEqual([told.length, vendor.requests.length], [1, 1]);
  });

  Deno.test(`${subject.name}: a caller whose request fails is told nothing`, async () => {
    await using vendor = createVendor(subject.vendor);
    const { options } = meter(subject.vendor, vendor);
    vendor.fail(400);
    await assert.rejects(subject.run(options, neverAborted(), () => assert.fail("nothing was used")));
  });
}

for (const name of ["openai", "anthropic", "gemini", "ollama"] as const) {
  Deno.test(`${name}: of a stream that its caller leaves, the text that came counts`, async () => {
    const answer = ["The first part of a long answer, ", "the second, ", "and the rest"];
    await using vendor = createVendor(name, { answer });
    const { options } = meter(name, vendor);
    const told: Usage[] = [];
    const request = { ...asked, onUsage: (usage: Usage) => void told.push(usage) };
    for await (const { type } of createCompletionProvider(options).stream(request)) {
      if (type === "text") break;
    }
    assert.equal(told.length, 1);
    const [{ promptTokens, completionTokens } = noUsage] = told;
    assert.equal(promptTokens, name === "openai" || name === "ollama" ? countTokens("What is it?") : 120);
    assert.ok(completionTokens >= countTokens(answer[0] ?? ""), `${completionTokens}`);
  });
}

Deno.test("a caller is told an estimate where the provider does not count", () => {
  const told: Usage[] = [];
  const tell = usageTeller(undefined, (usage) => void told.push(usage), () => ["What is it?", "A tree?"]);
  tell(noUsage, { text: "It is a tree.", isWhole: true });
  tell({ ...noUsage, promptTokens: 9, completionTokens: 2 }, { text: "It is a tree.", isWhole: true });
  assert.deepEqual(told, [
    {
      ...noUsage,
      promptTokens: countTokens("What is it?") + countTokens("A tree?"),
      completionTokens: countTokens("It is a tree."),
    },
    { ...noUsage, promptTokens: 9, completionTokens: 2 },
  ]);
});

for (const subject of subjects) {
  const isPaid = subject.vendor === "voyage" || subject.vendor === "rerank";
  Deno.test(`${subject.name}: a ping that is a real request ${isPaid ? "counts" : "is not made"}`, async () => {
    await using vendor = createVendor(subject.vendor);
    const { reports, options } = meter(subject.vendor, vendor);
    await subject.ping(options);
    assert.equal(promptTokens(reports) > 0, isPaid);
  });
}

Deno.test("of embeddings in batches those count that came, though another failed", async () => {
  await using vendor = createVendor("gemini");
  const { reports, options } = meter("gemini", vendor);
  const provider = createEmbeddingProvider({ ...options, requestTimeoutMs: 2_000 });
  await provider.embed({ texts: new Array(100).fill("text"), purpose: "document", signal: neverAborted() });
  const ofBatch = promptTokens(reports);
  vendor.fail(400, { times: 1 });
  const texts = new Array(200).fill("text");
  await assert.rejects(provider.embed({ texts, purpose: "document", signal: neverAborted() }));
  assert.ok([1, 2].includes(promptTokens(reports) / ofBatch));
});
