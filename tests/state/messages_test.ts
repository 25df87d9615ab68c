import assert from "node:assert/strict";
import { AppError } from "../../src/core/app_error.ts";
import { createMessages } from "../../src/state/messages.ts";
import type { State } from "../../src/state/state.ts";
import { testSharedStates } from "../support/state.ts";
import { waitUntil } from "../support/wait_until.ts";

/** A process that listens, and what it has heard. */
async function listen(state: State, topic = "topic") {
  const heard: string[] = [];
  const messages = createMessages(state, topic, (message) => heard.push(message));
  await state.catchUp();
  return { heard, ...messages };
}

testSharedStates(
  "a message is heard at the others, on its topic, and not where it was sent",
  async (open) => {
    using here = await listen(await open());
    using there = await listen(await open());
    using elsewhere = await listen(await open(), "another topic");
    here.send("one", "ann");
    there.send("two", "ann");
    await waitUntil("both are heard", () => here.heard.length + there.heard.length >= 2);
    here.send("last", "ann");
    await waitUntil("the last is heard", () => there.heard.includes("last"));
    assert.deepEqual([here.heard, there.heard, elsewhere.heard], [["two"], ["one", "last"], []]);
  },
);

testSharedStates("a message is heard by nobody who begins to listen much later", async (open) => {
  let now = Date.UTC(2026, 0, 1);
  using here = await listen(await open({ now: () => now }));
  using there = await listen(await open({ now: () => now }));
  here.send("one", "ann");
  await waitUntil("it is heard", () => there.heard.length > 0);
  now += 10_000;
  using late = await listen(await open({ now: () => now }));
  assert.deepEqual(late.heard, []);
});

testSharedStates("of messages that wait a sender has some, and takes nobody's room", async (open) => {
  using here = await listen(await open());
  using there = await listen(await open());
  for (let at = 0; at < 25; at++) here.send(`ann ${at}`, "ann");
  here.send("bo 0", "bo");
  await waitUntil("the other's is heard", () => there.heard.includes("bo 0"));
  assert.deepEqual(there.heard, [...Array.from({ length: 20 }, (_, at) => `ann ${at}`), "bo 0"]);
  // once they are sent there is room again
  here.send("ann again", "ann");
  await waitUntil("the next is heard", () => there.heard.includes("ann again"));
  // of all together
  for (let at = 0; at < 520; at++) here.send(`${at}`, `sender ${at % 26}`);
  await waitUntil("many are heard", () => there.heard.length >= 522);
  here.send("last", "ann");
  await waitUntil("the last is heard", () => there.heard.includes("last"));
  assert.equal(there.heard.length, 523);
});

testSharedStates("a message that is too long is not sent", async (open) => {
  using here = await listen(await open());
  using there = await listen(await open());
  here.send("x".repeat(1_001), "ann");
  here.send("x".repeat(1_000), "ann");
  await waitUntil("one is heard", () => there.heard.length > 0);
  assert.deepEqual(there.heard, ["x".repeat(1_000)]);
});

testSharedStates("where the state is away a message is dropped, and the next one is sent", async (open) => {
  const whole = await open();
  let isAway = true;
  let tried = 0;
  const state: State = {
    ...whole,
    of: (kind) => ({
      ...whole.of(kind),
      keep(record) {
        tried++;
        return isAway ? Promise.reject(new AppError("unavailable", "away")) : whole.of(kind).keep(record);
      },
    }),
  };
  using here = await listen(state);
  using there = await listen(await open());
  here.send("lost", "ann");
  await waitUntil("it is tried", () => tried === 1);
  isAway = false;
  here.send("next", "ann");
  await waitUntil("the next is heard", () => there.heard.length > 0);
  assert.deepEqual(there.heard, ["next"]);
});

testSharedStates("what another program's record says is not taken for messages", async (open) => {
  const state = await open();
  using there = await listen(await open());
  for (
    const [id, value] of [["a", null], ["b", { from: "x", messages: "one" }], ["c", {
      messages: [1, {}],
    }]] as const
  ) {
    await state.of("topic").keep({ id, value, expiresAt: state.now() + 10_000 });
  }
  using here = await listen(state);
  here.send("one", "ann");
  await waitUntil("it is heard", () => there.heard.length > 0);
  assert.deepEqual(there.heard, ["one"]);
});
