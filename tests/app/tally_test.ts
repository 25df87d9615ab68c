import assert from "node:assert/strict";
import { createTally } from "../../src/app/tally.ts";

function setUp(maxKeys = 3) {
  const reports: string[] = [];
  const clock = { ms: 0 };
  const tally = createTally<number>({
    maxKeys,
    others: "others",
    now: () => clock.ms,
    report: ({ key, event, count, isRepeated }) =>
      void reports.push(`${key} ${event} x${count}${isRepeated ? " again" : ""}`),
  });
  return { tally, reports, clock };
}

Deno.test("a flood of one key gives one report a minute, which counts the others", () => {
  const { tally, reports, clock } = setUp();
  for (let n = 0; n < 300; n++, clock.ms += 1_000) tally.add("a", n);
  assert.deepEqual(reports, [
    "a 0 x1",
    "a 60 x60 again",
    "a 120 x60 again",
    "a 180 x60 again",
    "a 240 x60 again",
  ]);
  tally[Symbol.dispose]();
  assert.equal(reports.at(-1), "a 299 x59 again");
});

Deno.test("keys beyond the bound are counted together", () => {
  const { tally, reports } = setUp();
  for (let n = 0; n < 10_000; n++) tally.add(String(n), n);
  tally[Symbol.dispose]();
  assert.deepEqual(reports, ["0 0 x1", "1 1 x1", "2 2 x1", "others 3 x1", "others 9999 x9996 again"]);
});
