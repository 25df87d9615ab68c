import assert from "node:assert/strict";
import { createLatestByText } from "../../src/core/latest_by_text.ts";

Deno.test("the latest values are kept, as many as the bytes hold", () => {
  const latest = createLatestByText<number>({ maxBytes: 10_000 });
  // 2 × 10 + 780 + 200 bytes each
  const texts = Array.from({ length: 12 }, (_, at) => `text ${at}`.padEnd(10));
  texts.forEach((text, at) => latest.set(text, at, 780));
  assert.deepEqual(texts.map(latest.get), [undefined, undefined, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

Deno.test("a value in place of another takes its room, and one that is too large takes none", () => {
  const latest = createLatestByText<string>({ maxBytes: 3_000 });
  for (let round = 0; round < 10; round++) latest.set("same", `round ${round}`, 1_000);
  latest.set("other", "small", 1_000);
  assert.deepEqual([latest.get("same"), latest.get("other")], ["round 9", "small"]);
  latest.set("large", "too large", 3_000);
  latest.set("x".repeat(1_500), "too large", 0);
  assert.deepEqual([latest.get("same"), latest.get("other"), latest.get("large")], [
    "round 9",
    "small",
    undefined,
  ]);
  latest.set("same", "too large", 3_000);
  assert.equal(latest.get("same"), undefined);
  latest.delete("other");
  latest.delete("never there");
  assert.equal(latest.get("other"), undefined);
});
