import assert from "node:assert/strict";
import { countTokens } from "../../../../src/text/token_count.ts";
import { diversePassages } from "../../../../src/tool_server/tools/documents/diverse_passages.ts";

const { signal } = new AbortController();

const documents = [
  { id: "a", score: 0.9, content: "Annual leave is 25 days." },
  { id: "b", score: 0.89, content: "Annual leave is 25 days, as before." },
  { id: "c", score: 0.5, content: "Sick pay begins on the first day of leave." },
];

async function order(lambda: number, maxTokens = 1_000) {
  const found = await diversePassages(
    "annual leave",
    documents,
    { chunkTokens: 100, maxTokens, lambda },
    signal,
  );
  return found.map(({ document }) => document.id).join("");
}

Deno.test("what repeats a passage comes after what does not, the more so the lower lambda is", async () => {
  assert.equal(await order(1), "abc");
  assert.equal(await order(0.4), "acb");
  assert.equal(await order(0), "acb");
});

Deno.test("passages end where the tokens do, and a shorter one may still fit", async () => {
  const texts = ["Leave.", `Leave ${"and more leave ".repeat(5)}`, "Leave it."];
  const found = await diversePassages(
    "leave",
    texts.map((content, at) => ({ content, score: 1 - at / 10 })),
    { chunkTokens: 100, maxTokens: 10, lambda: 1 },
    signal,
  );
  assert.deepEqual(found.map(({ text }) => text), ["Leave.", "Leave it."]);
  const [only, ...others] = await diversePassages("q", [{ score: 1, content: "word ".repeat(500) }], {
    chunkTokens: 2_000,
    maxTokens: 50,
    lambda: 1,
  }, signal);
  assert.deepEqual(others, []);
  assert.ok(countTokens(only?.text ?? "") <= 50 && only?.text !== "");
});

Deno.test("a long text is cut, and the part that has the question's words comes first", async () => {
  const paragraphs = Array.from(
    { length: 12 },
    (_, at) =>
      at === 7
        ? "The quokka sleeps behind building seven, and nobody wakes it."
        : `Paragraph ${at} is about nothing much. `.repeat(6),
  );
  const [first] = await diversePassages("Where does the quokka sleep?", [{
    score: 0.5,
    content: paragraphs.join("\n\n"),
  }], {
    chunkTokens: 60,
    maxTokens: 500,
    lambda: 0.6,
  }, signal);
  assert.match(first?.text ?? "", /quokka/);
  assert.ok(countTokens(first?.text ?? "") <= 60);
});

Deno.test("no documents, no passages; a question without words leaves their order", async () => {
  assert.deepEqual(
    await diversePassages("q", [], { chunkTokens: 100, maxTokens: 100, lambda: 1 }, signal),
    [],
  );
  const found = await diversePassages(
    "??",
    documents,
    { chunkTokens: 100, maxTokens: 1_000, lambda: 1 },
    signal,
  );
  assert.deepEqual(found.map(({ document }) => document.id), ["a", "b", "c"]);
});
