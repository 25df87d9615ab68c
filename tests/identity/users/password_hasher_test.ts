import assert from "node:assert/strict";
import { createPasswordHasher } from "../../../src/identity/users/password_hasher.ts";
import { dummyHash } from "../../../src/identity/users/password_hash.ts";

// of the password "x", cost 4
const hash = "$2b$04$SO9M0IMgBSqod/q4Qon2WugvkyazdN45rQ62HK8VPgEh7URrzYm8y";
const never = new AbortController().signal;
const request = (
  password: string,
  extra: { totalCost?: number; admit?: () => boolean; signal?: AbortSignal } = {},
) => ({
  password,
  hash,
  totalCost: 4,
  admit: () => true,
  signal: never,
  ...extra,
});

Deno.test("compare() tells match from mismatch, with several threads too", async () => {
  for (const workers of [1, 3]) {
    using hasher = createPasswordHasher({ workers });
    const outcomes = await Promise.all(
      ["x", "y", "x", "", "x"].map((password) => hasher.compare(request(password))),
    );
    assert.deepEqual(outcomes, ["match", "mismatch", "match", "mismatch", "match"]);
  }
});

Deno.test("compare() turns away what is more than may wait, and says when to come back", async () => {
  using hasher = createPasswordHasher({ workers: 1, maxWaiting: 2 });
  const running = [1, 2, 3].map(() => hasher.compare(request("x", { totalCost: 10 })));
  await assert.rejects(
    hasher.compare(request("x")),
    (error: { code: string; data: { retryAfterSeconds: number } }) => {
      assert.equal(error.code, "unavailable");
      assert.ok(Number.isInteger(error.data.retryAfterSeconds) && error.data.retryAfterSeconds >= 1);
      return true;
    },
  );
  assert.deepEqual(await Promise.all(running), ["match", "match", "match"]);
  assert.equal(await hasher.compare(request("x")), "match");
});

Deno.test("compare() gives up what waits when its signal aborts, and what has begun goes on", async () => {
  using hasher = createPasswordHasher({ workers: 1 });
  const controller = new AbortController();
  const begun = hasher.compare(request("x", { signal: controller.signal, totalCost: 10 }));
  const waits = hasher.compare(request("x", { signal: controller.signal }));
  const other = hasher.compare(request("x"));
  controller.abort(new Error("the client has gone"));
  await assert.rejects(waits, /^Error: the client has gone$/);
  await assert.rejects(
    hasher.compare(request("x", { signal: controller.signal })),
    /^Error: the client has gone$/,
  );
  assert.deepEqual(await Promise.all([begun, other]), ["match", "match"]);
});

Deno.test("compare() asks once more when its turn comes", async () => {
  using hasher = createPasswordHasher({ workers: 1 });
  let open = true;
  const first = hasher.compare(request("x"));
  const second = hasher.compare(request("x", { admit: () => open }));
  const third = hasher.compare(request("x"));
  open = false;
  assert.deepEqual(await Promise.all([first, second, third]), ["match", "not_admitted", "match"]);
});

Deno.test("close() ends what runs and what waits, and starts nothing more", async () => {
  const hasher = createPasswordHasher({ workers: 1 });
  const outcomes = Promise.allSettled(
    [1, 2].map(() => hasher.compare({ ...request("x"), hash: dummyHash(14), totalCost: 14 })),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  hasher.close();
  assert.deepEqual((await outcomes).map(({ status }) => status), ["rejected", "rejected"]);
  await assert.rejects(hasher.compare(request("x")), { code: "unavailable" });
});

Deno.test("fifty comparisons leave the event loop free", async () => {
  using hasher = createPasswordHasher({ workers: 1 });
  await hasher.compare(request("x"));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const start = performance.now();
  await Promise.all(Array.from({ length: 50 }, () => hasher.compare(request("x", { totalCost: 9 }))));
  const elapsedMs = performance.now() - start;
  clearInterval(timer);
  // on the event loop's own thread there would be 50 at the most
  assert.ok(ticks > elapsedMs / 20 && ticks > 60, `${ticks} ticks in ${elapsedMs} ms`);
});
