import assert from "node:assert/strict";
import fc from "fast-check";
import { AppError } from "../../src/core/app_error.ts";
import { type OpenState, skipTime, testSharedStates, testStates } from "../support/state.ts";
import { waitUntil } from "../support/wait_until.ts";
import { createRateLimiter, type RateLimiterOptions, siteOf } from "../../src/identity/rate_limiter.ts";

function limiterAt(options: Partial<RateLimiterOptions> = {}) {
  const clock = { ms: 1_000_000 };
  const limiter = createRateLimiter({ windowMs: 60_000, maxAttempts: 3, now: () => clock.ms, ...options });
  const fail = (address: string, times = 1) => {
    // it counts at once; whoever waits learns whether it counts everywhere
    for (let i = 0; i < times; i++) void limiter.recordFailed(address);
  };
  return { limiter, clock, fail, isLimited: (address: string) => limiter.check(address).limited };
}

Deno.test("an address is limited once it has spent its attempts, and no other is", () => {
  const { limiter, fail } = limiterAt();
  fail("192.0.2.1", 2);
  assert.deepEqual(limiter.check("192.0.2.1"), { limited: false });
  fail("192.0.2.1");
  assert.deepEqual(limiter.check("192.0.2.1"), { limited: true, retryAfterSeconds: 60 });
  assert.deepEqual(limiter.check("192.0.2.2"), { limited: false });
});

Deno.test("the window slides: an attempt is given back when the first one is as old as the window", () => {
  const { limiter, clock, fail, isLimited } = limiterAt();
  for (const at of [0, 20_000, 50_500]) {
    clock.ms = 1_000_000 + at;
    fail("192.0.2.1");
  }
  assert.deepEqual(limiter.check("192.0.2.1"), { limited: true, retryAfterSeconds: 10 });
  clock.ms = 1_059_999;
  assert.deepEqual(limiter.check("192.0.2.1"), { limited: true, retryAfterSeconds: 1 });
  clock.ms = 1_060_000;
  assert.equal(isLimited("192.0.2.1"), false);
  fail("192.0.2.1");
  assert.deepEqual(limiter.check("192.0.2.1"), { limited: true, retryAfterSeconds: 20 });
});

Deno.test("asking changes nothing", () => {
  const { fail, isLimited } = limiterAt({ maxAttempts: 1 });
  for (let i = 0; i < 50; i++) assert.equal(isLimited("192.0.2.1"), false);
  fail("192.0.2.1");
  for (let i = 0; i < 50; i++) assert.equal(isLimited("192.0.2.1"), true);
});

const sameOrNot: [same: boolean, left: string, right: string, why: string][] = [
  [true, "192.0.2.1", "::ffff:192.0.2.1", "IPv4 and its mapped form"],
  [true, "192.0.2.1", "::ffff:c000:201", "IPv4 and its mapped form in hex"],
  [false, "192.0.2.1", "192.0.2.2", "two addresses of IPv4"],
  [true, "2001:db8::1", "2001:db8:0:0:ffff::1", "one /64"],
  [true, "2001:DB8::1", "2001:db8::1", "case"],
  [false, "2001:db8:0:1::1", "2001:db8:0:2::1", "two /64"],
  [false, "fe80::1", "fe80::2", "link-local addresses, which share one /64"],
  [true, "fe80::1%eth0", "fe80::1%2", "zones"],
  [false, "64:ff9b::c000:201", "64:ff9b::c000:202", "IPv4 behind a translator"],
  [false, "::1", "127.0.0.1", "the loopbacks"],
  [false, "unknown", "192.0.2.1", "what is no address"],
  [true, "unknown", "unknown", "the same text"],
];
for (const [same, left, right, why] of sameOrNot) {
  Deno.test(`${left} and ${right} count ${same ? "as one" : "apart"}: ${why}`, () => {
    const { fail, isLimited } = limiterAt();
    fail(left, 3);
    assert.deepEqual([isLimited(left), isLimited(right)], [true, same]);
  });
}

interface Step {
  address: string;
  failed: number;
  waitMs: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    address: fc.constantFrom("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"),
    failed: fc.integer({ min: 0, max: 3 }),
    waitMs: fc.oneof(
      fc.integer({ min: 0, max: 300 }),
      fc.constantFrom(0, 999, 1000, 1001),
      fc.integer({ min: 0, max: 4000 }),
    ),
  }),
  { maxLength: 60 },
);

/** Keeps every failure and counts them all, each time. */
function createNaiveLimiter(windowMs: number, maxAttempts: number, now: () => number) {
  const failed: { address: string; at: number }[] = [];
  const isLimitedAt = (address: string, time: number) =>
    failed.filter((each) => each.address === address && each.at > time - windowMs).length >=
      maxAttempts;
  return {
    recordFailed: (address: string) => void failed.push({ address, at: now() }),
    check(address: string) {
      if (!isLimitedAt(address, now())) return { limited: false };
      let retryAfterSeconds = 0;
      while (isLimitedAt(address, now() + retryAfterSeconds * 1000)) retryAfterSeconds++;
      return { limited: true, retryAfterSeconds };
    },
  };
}

Deno.test("property: every verdict is that of a limiter that forgets nothing and counts anew", () => {
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(1000, 3500),
      (steps, maxAttempts, windowMs) => {
        let time = 0;
        const now = () => time;
        const limiter = createRateLimiter({ windowMs, maxAttempts, now });
        const naive = createNaiveLimiter(windowMs, maxAttempts, now);
        for (const { address, failed, waitMs } of steps) {
          for (let i = 0; i < failed; i++) {
            void limiter.recordFailed(address);
            naive.recordFailed(address);
          }
          time += waitMs;
          for (const asked of ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"]) {
            assert.deepEqual(limiter.check(asked), naive.check(asked));
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("property: with little memory, what is forgotten is the one that failed longest ago with attempts left", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 100, maxLength: 200 }), (failing) => {
      const { limiter, fail } = limiterAt({ maxAddresses: 5, windowMs: 1e9 });
      let known: { address: string; failed: number }[] = [];
      for (const index of failing) {
        const address = `192.0.2.${index}`;
        const failed = (known.find((one) => one.address === address)?.failed ?? 0) + 1;
        known = known.filter((one) => one.address !== address);
        if (known.length === 5) {
          const forgotten = known.find((one) => one.failed < 3) ?? known[0];
          known = known.filter((one) => one !== forgotten);
        }
        known.push({ address, failed });
        fail(address);
        for (let other = 0; other < 10; other++) {
          const asked = `192.0.2.${other}`;
          const expected = (known.find((one) => one.address === asked)?.failed ?? 0) >= 3;
          assert.equal(limiter.check(asked).limited, expected);
        }
        assert.equal(limiter.size, known.length);
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("a million addresses stay within the bound and reset nobody who is limited", () => {
  const { limiter, fail, isLimited } = limiterAt({ maxAddresses: 1000 });
  fail("192.0.2.1", 3);
  fail("2001:db8::1", 3);
  for (let i = 0; i < 1_000_000; i++) fail(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  assert.equal(limiter.size, 1000);
  assert.deepEqual([isLimited("192.0.2.1"), isLimited("2001:db8::1")], [true, true]);
});

Deno.test("one /64 of IPv6 is one address, whatever it sends from", () => {
  const { limiter, fail, isLimited } = limiterAt();
  for (let i = 1; i <= 10_000; i++) fail(`2001:db8::${i.toString(16)}`);
  assert.equal(limiter.size, 1);
  assert.equal(isLimited("2001:db8::dead:beef"), true);
});

Deno.test("old attempts go without being asked about", () => {
  const { limiter, clock, fail } = limiterAt();
  for (let i = 0; i < 5000; i++) fail(`10.0.${i >> 8}.${i & 255}`, 1 + i % 3);
  assert.equal(limiter.size, 5000);
  clock.ms += 60_000;
  for (let i = 0; i < 100; i++) limiter.check("192.0.2.1");
  assert.equal(limiter.size, 0);
});

Deno.test("a limiter of sites counts a /48 of IPv6 as one, and addresses of IPv4 apart", () => {
  const { fail, isLimited } = limiterAt({ groupOf: siteOf });
  for (const network of [1, 2, 3]) fail(`2001:db8:7:${network}::1`);
  assert.deepEqual(
    ["2001:db8:7:ffff::1", "2001:db8:8:1::1", "192.0.2.1"].map(isLimited),
    [true, false, false],
  );
});

Deno.test("recordFailed() tells whether fewer than maxAttempts came before it", async () => {
  const { limiter, clock } = limiterAt();
  const told = [];
  for (let i = 0; i < 5; i++) told.push(await limiter.recordFailed("192.0.2.1"));
  assert.deepEqual(told, [true, true, true, false, false]);
  assert.equal(await limiter.recordFailed("192.0.2.2"), true);
  clock.ms += 60_000;
  assert.equal(await limiter.recordFailed("192.0.2.1"), true);
});

/** A limiter of one more process. */
async function openLimiter(open: OpenState, options: Partial<RateLimiterOptions> = {}) {
  const state = await open();
  const limiter = createRateLimiter({
    windowMs: 60_000,
    maxAttempts: 3,
    now: () => performance.now(),
    kept: state.of("failed login"),
    wallNow: state.now,
    ...options,
  });
  await state.catchUp();
  return { ...limiter, learn: state.catchUp };
}

testSharedStates("two limiters on one state count together", async (open) => {
  const [here, there] = [await openLimiter(open), await openLimiter(open)];
  await here.recordFailed("192.0.2.1");
  await there.recordFailed("192.0.2.1");
  assert.equal(there.check("192.0.2.1").limited, false);
  await here.recordFailed("192.0.2.1");
  await there.learn();
  await here.learn();
  for (const limiter of [here, there]) {
    assert.equal(limiter.check("192.0.2.1").limited, true);
    assert.equal(limiter.check("192.0.2.2").limited, false);
    assert.equal(await limiter.recordFailed("192.0.2.1"), false);
  }
});

testSharedStates("an attempt of another process is known here without being asked about", async (open) => {
  const [here, there] = [
    await openLimiter(open, { maxAttempts: 1 }),
    await openLimiter(open, { maxAttempts: 1 }),
  ];
  await here.recordFailed("2001:db8::1");
  await waitUntil("it is limited there too", () => there.check("2001:db8::2").limited);
});

testStates("an attempt counts once where it is told of more than once", async (open) => {
  const limiter = await openLimiter(open, { now: () => 1_000_000 });
  await limiter.recordFailed("192.0.2.1");
  const other = await openLimiter(open, { now: () => 1_000_000 });
  // who has heard nothing for so long is told of all
  using _ = skipTime(6 * 60_000);
  for (const each of [limiter, other, limiter, other]) await each.learn();
  await limiter.recordFailed("192.0.2.1");
  await other.learn();
  for (const { check } of [limiter, other]) assert.equal(check("192.0.2.1").limited, false);
  await limiter.recordFailed("192.0.2.1");
  await other.learn();
  for (const { check } of [limiter, other]) assert.equal(check("192.0.2.1").limited, true);
});

testSharedStates(
  "a limiter of a new process knows the attempts that are still in the window, and their age",
  async (open) => {
    let wall = Date.UTC(2026, 0, 1);
    const at = async (options: Partial<RateLimiterOptions>) =>
      await openLimiter(() => open({ now: () => wall }), { wallNow: () => wall, ...options });
    const old = await at({ now: () => 5_000 });
    for (let i = 0; i < 3; i++) await old.recordFailed("192.0.2.1");
    wall += 20_000;
    for (let i = 0; i < 2; i++) await old.recordFailed("192.0.2.2");
    wall += 10_000;
    // its own clock begins anew
    let time = 7;
    const young = await at({ now: () => time });
    assert.deepEqual(young.check("192.0.2.1"), { limited: true, retryAfterSeconds: 30 });
    assert.equal(await young.recordFailed("192.0.2.2"), true);
    assert.deepEqual(young.check("192.0.2.2"), { limited: true, retryAfterSeconds: 50 });
    time += 30_000;
    assert.equal(young.check("192.0.2.1").limited, false);
    wall += 60_000;
    const late = await at({ now: () => 3 });
    assert.equal(late.size, 0);
  },
);

Deno.test("an attempt that other servers would not count throws, and counts here", async () => {
  const away = new AppError("unavailable", "away", { data: { retryAfterSeconds: 1 } });
  const { limiter, isLimited } = limiterAt({
    maxAttempts: 1,
    kept: { keep: () => Promise.reject(away), forget: () => Promise.resolve(false), follow: () => {} },
  });
  await assert.rejects(limiter.recordFailed("192.0.2.1"), away);
  assert.equal(isLimited("192.0.2.1"), true);
});
