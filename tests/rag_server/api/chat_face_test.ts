import assert from "node:assert/strict";
import { createChatWire } from "../../../src/rag_server/api/chat_face.ts";

const sources = ["a", "b"].map((key) => ({
  key,
  content: key,
  score: 1,
  url: `https://example.com/${key}`,
}));

async function citationsOf(answer: string) {
  const wire = createChatWire({ id: "1", model: "docs", created: 0, includeUsage: false });
  const { choices } = JSON.parse(JSON.stringify(await wire.whole({ answer, sources, tokensUsed: 1 }, true)));
  const { annotations }: {
    annotations: { url_citation: { url: string; start_index: number; end_index: number } }[];
  } = choices[0].message;
  return annotations.map(({ url_citation: { url, start_index, end_index } }) => [
    url.at(-1),
    answer.slice(start_index, end_index),
  ]);
}

Deno.test("a source is cited at its first mark, alone or among others, else at the end", async () => {
  assert.deepEqual(await citationsOf("One [2], two [1, 2]."), [["a", "[1, 2]"], ["b", "[2]"]]);
  assert.deepEqual(await citationsOf("None [12]."), [["a", ""], ["b", ""]]);
});

Deno.test("a bracket that never closes hides no later mark", async () => {
  assert.deepEqual(await citationsOf(`[${"1,".repeat(100_000)} and [2].`), [["a", ""], ["b", "[2]"]]);
});
