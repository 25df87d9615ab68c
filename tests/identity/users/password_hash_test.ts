import assert from "node:assert/strict";
import {
  checkNewPassword,
  dummyHash,
  hashPassword,
  isPossiblePassword,
  passwordHashFault,
  verifyPassword,
} from "../../../src/identity/users/password_hash.ts";

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
