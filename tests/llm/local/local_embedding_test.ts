import assert from "node:assert/strict";
import fc from "fast-check";
import { anyText } from "../../support/any_text.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";

const { signal } = new AbortController();

async function embed(...texts: string[]): Promise<readonly Float32Array[]> {
  return (await localEmbedding().embed({ texts, purpose: "document", signal })).vectors;
}

async function cosine(one: string, other: string): Promise<number> {
  const [a = new Float32Array(), b = new Float32Array()] = await embed(one, other);
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

Deno.test("localEmbedding() is called local/hashed-256 and answers a ping", async () => {
  assert.equal(localEmbedding().name, "local/hashed-256");
  await localEmbedding().ping(signal);
});

Deno.test("localEmbedding() gives the same numbers on every machine and in every version", async () => {
  const [english, mixed] = await embed("Employees get 25 days of leave a year.", "Größe 漢字 naïve 😀");
  const places = [0, 12, 103, 235, 255];
  assert.deepEqual(places.map((at) => english?.[at]), [
    -0.04378364980220795,
    0.13649137318134308,
    -0.025801047682762146,
    0.15045064687728882,
    0.13604237139225006,
  ]);
  assert.deepEqual(places.map((at) => mixed?.[at]), [
    -0.0280967615544796,
    -0.0280967615544796,
    0.20565655827522278,
    0.08877990394830704,
    -0.0280967615544796,
  ]);
});

Deno.test("localEmbedding() puts a text without words equally far from all others", async () => {
  const [empty, marks] = await embed("", " …!? 🎉");
  assert.deepEqual(empty, new Float32Array(256).fill(0.0625));
  assert.deepEqual(marks, empty);
  assert.ok(Math.abs(await cosine("", "Employees get 25 days of leave a year.")) < 1e-6);
});

Deno.test("localEmbedding() finds texts near that share words, inflected, accented or misspelt", async () => {
  const question = "carrying over unused holidays";
  const near = await cosine(question, "An unused holiday is carried over to the next year.");
  const far = await cosine(question, "The office in Berlin opens at eight in the morning.");
  assert.ok(near > 0.4 && Math.abs(far) < 0.2, `${near} ${far}`);
  assert.ok(await cosine("Café Crème", "cafe creme") > 0.999);
  assert.ok(await cosine("boundary layer separation", "boundry layers seperation") > 0.5);
  assert.ok(await cosine("数据库索引", "数据库的索引") > 0.4);
});

Deno.test("localEmbedding() damps words without a topic", async () => {
  assert.ok(await cosine("what is the price of the chair", "price chair") > 0.9);
  assert.ok(await cosine("what is the price of the chair", "what is the age of the king") < 0.3);
});

Deno.test("localEmbedding() gives each text of a batch the vector that it has alone", async () => {
  const texts = ["one text", "", "another text about something else", "one text"];
  const together = await embed(...texts);
  const alone = (await Promise.all(texts.map((text) => embed(text)))).flat();
  assert.deepEqual(together, alone);
});

Deno.test("localEmbedding() estimates the tokens and takes no texts", async () => {
  const { usage } = await localEmbedding().embed({ texts: ["one two", "three"], purpose: "query", signal });
  assert.deepEqual(usage, {
    promptTokens: 3,
    completionTokens: 0,
    cacheCreationInputTokens: 0,
    cacheReadInputTokens: 0,
  });
  assert.deepEqual(await embed(), []);
});

Deno.test("localEmbedding() gives any text 256 numbers of length 1, the same each time", async () => {
  await fc.assert(fc.asyncProperty(anyText(), async (text) => {
    const [vector, again] = await embed(text, text);
    assert.equal(vector?.length, 256);
    assert.deepEqual(vector, again);
    const length = Math.hypot(...vector ?? []);
    assert.ok(Math.abs(length - 1) < 1e-5, `${length}`);
  }));
});

Deno.test("localEmbedding() lets others work during a big batch and within a long text", async () => {
  for (
    const texts of [Array.from({ length: 1000 }, () => "some words ".repeat(20)), [
      "some words ".repeat(20_000),
    ]]
  ) {
    let rounds = 0;
    const timer = setInterval(() => rounds++, 0);
    await embed(...texts);
    clearInterval(timer);
    assert.ok(rounds > 3, `${rounds}`);
  }
});

Deno.test("localEmbedding() stops with the signal's reason", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), 0);
  const texts = Array.from({ length: 5000 }, () => "some words ".repeat(50));
  const embedding = localEmbedding().embed({ texts, purpose: "document", signal: controller.signal });
  await assert.rejects(embedding, { message: "enough" });
});
