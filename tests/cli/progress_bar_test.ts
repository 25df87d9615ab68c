import assert from "node:assert/strict";
import { createProgress } from "../../src/cli/progress_bar.ts";

function shown(isTerminal: boolean) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const progress = createProgress({ isTerminal, write: (text) => written.push(text), now: () => clock.ms });
  return { written, clock, progress };
}

Deno.test("createProgress() draws a bar over itself on a terminal, ten times a second at most", () => {
  const { written, clock, progress } = shown(true);
  progress.update({ phase: "files", done: 0, total: 4 });
  clock.ms = 99;
  progress.update({ phase: "files", done: 1, total: 4 });
  clock.ms = 100;
  progress.update({ phase: "files", done: 2, total: 4 });
  progress.update({ phase: "files", done: 4, total: 4 });
  progress.end();
  progress.end();
  assert.deepEqual(written, [
    "\r\x1b[K[..............................] 0 of 4 files (0 %)",
    "\r\x1b[K[###############...............] 2 of 4 files (50 %)",
    "\r\x1b[K[##############################] 4 of 4 files (100 %)",
    "\r\x1b[K",
  ]);
});

Deno.test("createProgress() writes a plain line every five seconds elsewhere, with what is left", () => {
  const { written, clock, progress } = shown(false);
  for (let second = 0; second <= 12; second++) {
    clock.ms = second * 1_000;
    progress.update({ phase: "documents", done: second * 100_000, total: 10_000_000 });
  }
  clock.ms = 20_000;
  progress.update({ phase: "lists", done: 0, total: 0 });
  progress.end();
  assert.deepEqual(written, [
    "500,000 of 10,000,000 documents (5 %), about 2 min left\n",
    "1,000,000 of 10,000,000 documents (10 %), about 2 min left\n",
    "0 of 0 lists (100 %)\n",
  ]);
});

Deno.test("createProgress() counts its five seconds from each operation's beginning", () => {
  const { written, clock, progress } = shown(false);
  for (const second of [0, 1, 60, 61]) {
    clock.ms = second * 1_000;
    progress.update({ phase: "files", done: second, total: 100 });
    if (second === 1) progress.end();
  }
  assert.deepEqual(written, []);
});

Deno.test("createProgress() shows no total once more is done than that", () => {
  for (
    const [isTerminal, lines] of [
      [true, [
        "\r\x1b[K[##############################] 41 of 41 documents (100 %)",
        "\r\x1b[K1,042 documents",
      ]],
      [false, ["41 of 41 documents (100 %)\n", "1,042 documents\n"]],
    ] as const
  ) {
    const { written, clock, progress } = shown(isTerminal);
    for (const done of [41, 1_042]) {
      clock.ms += 5_000;
      progress.update({ phase: "documents", done, total: 41 });
    }
    assert.deepEqual(written, lines);
  }
});

Deno.test("createProgress() tells from this run's pace what is left of one that goes on with another", () => {
  const { written, clock, progress } = shown(false);
  progress.update({ phase: "documents", done: 900, total: 1_000 });
  clock.ms = 10_000;
  progress.update({ phase: "documents", done: 920, total: 1_000 });
  assert.deepEqual(written, ["920 of 1,000 documents (92 %), about 40 s left\n"]);
});
