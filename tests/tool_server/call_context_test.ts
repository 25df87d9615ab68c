import assert from "node:assert/strict";
import { tellElapsed, tellSteps } from "../../src/tool_server/call_context.ts";
import { waitUntil } from "../support/wait_until.ts";

type Told = [progress: number, total: number | undefined, message: string];

function listen() {
  const told: Told[] = [];
  return { told, notify: (...step: Told) => void told.push(step) };
}

const rises = (told: readonly Told[]) =>
  told.every(([progress], at) => at === 0 || progress > (told[at - 1]?.[0] ?? Infinity));

Deno.test("tellSteps() tells of each step, and of more where a statement goes back to the model", () => {
  const { told, notify } = listen();
  using steps = tellSteps(notify);
  for (const step of ["catalog", "model", "plan", "model", "plan", "run"] as const) steps.begin(step);
  assert.deepEqual(told, [
    [0, 4, "Reading the catalog"],
    [1, 4, "Asking the model"],
    [2, 4, "Planning the statement"],
    [3, 6, "Asking the model"],
    [4, 6, "Planning the statement"],
    [5, 6, "Running the statement"],
  ]);
});

Deno.test("tellSteps() tells how long a step goes on, until the next begins", async () => {
  const { told, notify } = listen();
  using steps = tellSteps(notify, 1);
  steps.begin("catalog");
  await waitUntil("it is told", () => told.length > 3);
  steps.begin("model");
  await waitUntil(
    "it is told of the next",
    () => told.some(([, , message]) => message.startsWith("Asking the model: ")),
  );
  assert.deepEqual(told[1], [0.5, 4, "Reading the catalog: 0.001 s"]);
  assert.ok(rises(told), JSON.stringify(told));
  assert.ok(told.every(([progress, total]) => progress < (total ?? 0)));
});

Deno.test("tellElapsed() counts seconds until it is disposed of", async () => {
  const { told, notify } = listen();
  {
    using _progress = tellElapsed(notify, "Counting the rows", 1);
    await waitUntil("it is told", () => told.length > 2);
  }
  assert.deepEqual(told[0], [0.001, undefined, "Counting the rows: 0.001 s"]);
  assert.ok(rises(told));
});

Deno.test("nobody who listens, no timer", () => {
  // a timer that is left would fail the test
  tellSteps(undefined).begin("catalog");
  assert.equal(tellElapsed(undefined, "Counting the rows"), undefined);
});
