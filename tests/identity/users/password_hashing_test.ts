import assert from "node:assert/strict";
import {
  checkNewPassword,
  createPasswordHasher,
  dummyHash,
  hashPassword,
  isPossiblePassword,
  passwordHashFault,
  verifyPassword,
} from "../../../src/identity/users/password_hashing.ts";

// of the crypt_blowfish distribution's own tests, whose $2y$ and $2b$ are the same algorithm
const vectors: [password: string, hash: string][] = [
  ["U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"],
  ["U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"],
  ["U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"],
  ["", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"],
];
for (const [password, hash] of vectors) {
  for (const variant of ["2a", "2b", "2y"]) {
    Deno.test(`verifyPassword() knows ${JSON.stringify(password)} by its $${variant}$ hash`, () => {
      const written = hash.replace("2a", variant);
      assert.equal(passwordHashFault(written), undefined);
      assert.ok(verifyPassword(password, written, 5));
      assert.ok(verifyPassword(password, written, 6));
      assert.ok(!verifyPassword(`${password}x`, written, 5));
    });
  }
}

Deno.test("hashPassword() makes a $2b$ hash of cost 12, another one each time", () => {
  const hashes = [hashPassword("correct horse battery"), hashPassword("correct horse battery")];
  assert.notEqual(hashes[0], hashes[1]);
  for (const hash of hashes) {
    assert.match(hash, /^\$2b\$12\$[./A-Za-z0-9]{53}$/);
    assert.ok(verifyPassword("correct horse battery", hash, 12));
  }
});

Deno.test("a dummy hash is taken for one, costs what it says and matches nothing", () => {
  for (const cost of [4, 5]) {
    assert.equal(passwordHashFault(dummyHash(cost)), undefined);
    assert.ok(dummyHash(cost).startsWith(`$2b$0${cost}$`));
    for (const password of ["", "x", dummyHash(cost)]) {
      assert.ok(!verifyPassword(password, dummyHash(cost), cost));
    }
  }
});

const refused: [title: string, password: string, reason: string][] = [
  ["empty", "", "it is empty"],
  ["too short", "elevenchars", "it has 11 characters, and at least 12 are needed"],
  [
    "too short in characters, though not in code units",
    "😀".repeat(11),
    "it has 11 characters, and at least 12 are needed",
  ],
  ["of 73 bytes", "x".repeat(73), "it has 73 bytes, and bcrypt uses only the first 72"],
  ["of 37 characters in 74 bytes", "é".repeat(37), "it has 74 bytes, and bcrypt uses only the first 72"],
  ["with NUL", "correct\0horse battery", "it holds a NUL character"],
  ["with half a surrogate pair", "correct horse \ud800", "it is not well-formed Unicode"],
];
for (const [title, password, reason] of refused) {
  Deno.test(`checkNewPassword() refuses one that is ${title}, with the reason and without the password`, () => {
    assert.throws(() => checkNewPassword(password, 12), {
      name: "AppError",
      code: "invalid",
      message: `Cannot set the password: ${reason}`,
    });
  });
}

Deno.test("checkNewPassword() takes 12 characters and 72 bytes, whatever they are", () => {
  for (
    const password of [
      "twelve chars",
      "x".repeat(72),
      "é".repeat(36),
      "😀".repeat(12),
      " ".repeat(12),
      "\t\n".repeat(6),
    ]
  ) {
    checkNewPassword(password, 12);
    assert.ok(isPossiblePassword(password));
  }
});

Deno.test("isPossiblePassword() is false of what could never have been set", () => {
  assert.deepEqual(["", "x"].map(isPossiblePassword), [true, true]);
  assert.deepEqual(["x".repeat(73), "a\0b", "\udc00"].map(isPossiblePassword), [false, false, false]);
});

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
  address: "192.0.2.1",
  admit: () => true,
  signal: never,
  ...extra,
});

Deno.test("compare() tells match from mismatch, with several threads too", async () => {
  for (const workers of [1, 3]) {
    using hasher = createPasswordHasher({ workers });
    const results = await Promise.all(
      ["x", "y", "x", "", "x"].map((password) => hasher.compare(request(password))),
    );
    assert.deepEqual(results, ["match", "mismatch", "match", "mismatch", "match"]);
  }
});

Deno.test("compare() turns away what is more than may wait, and says when to come back", async () => {
  using hasher = createPasswordHasher({ workers: 1, maxWaiting: 2 });
  const running = [1, 2, 3].map(() => hasher.compare(request("x", { totalCost: 10 })));
  await assert.rejects(
    hasher.compare(request("x")),
    (error: { code: string; data: { retryAfterSeconds: number } }) => {
      assert.equal(error.code, "overloaded");
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

Deno.test("compare() asks once more when it is next", async () => {
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
  const results = Promise.allSettled(
    [1, 2].map(() => hasher.compare({ ...request("x"), hash: dummyHash(14), totalCost: 14 })),
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  hasher.close();
  assert.deepEqual((await results).map(({ status }) => status), ["rejected", "rejected"]);
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
