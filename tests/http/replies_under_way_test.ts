import assert from "node:assert/strict";
import { createRepliesUnderWay } from "../../src/http/replies_under_way.ts";

/** Resolves with whether replies are settled at this time. */
async function isSettled(replies: ReturnType<typeof createRepliesUnderWay>): Promise<boolean> {
  const looking = new AbortController();
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), 120);
  const settled = await Promise.race([replies.settled(looking.signal).then(() => true), late.promise]);
  clearTimeout(timer);
  looking.abort();
  return settled;
}

Deno.test("replies are settled where there were none", async () => {
  assert.equal(await isSettled(createRepliesUnderWay({ settleMs: 1_000, now: () => 0 })), true);
});

Deno.test("replies are settled a while after the last one ended", async () => {
  let time = 0;
  const replies = createRepliesUnderWay({ settleMs: 1_000, now: () => time });
  replies.begin();
  replies.begin();
  replies.end();
  time = 5_000;
  assert.equal(await isSettled(replies), false);
  replies.end();
  assert.equal(await isSettled(replies), false);
  time = 5_999;
  assert.equal(await isSettled(replies), false);
  time = 6_000;
  assert.equal(await isSettled(replies), true);
});
