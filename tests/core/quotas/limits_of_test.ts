import assert from "node:assert/strict";
import type { Principal } from "../../../src/core/principal.ts";
import { limitsOf } from "../../../src/core/quotas/quotas.ts";

const issuer = "https://login.example.com";
const carol = (...groups: string[]): Principal => ({ kind: "issuer", issuer, subject: "u-17", groups });

const rules = {
  default: { calls_per_minute: 10, rows_per_day: 100, calls_at_once: 1 },
  principals: {
    "alice": { calls_per_minute: 1 },
    "token-173": { rows_per_day: 5 },
    "u-17": { bytes_per_day: 7 },
  },
  groups: {
    analysts: { calls_per_minute: 60, rows_per_day: 50 },
    night: { calls_per_minute: 90 },
  },
};

Deno.test("limitsOf() takes each number from the most specific rule that has it", () => {
  assert.deepEqual(limitsOf(rules, { kind: "session", id: "s", username: "alice" }), {
    calls_per_minute: 1,
    rows_per_day: 100,
    calls_at_once: 1,
  });
  assert.deepEqual(limitsOf(rules, { kind: "token", id: "token-173" }), {
    calls_per_minute: 10,
    rows_per_day: 5,
    calls_at_once: 1,
  });
  assert.deepEqual(limitsOf(rules, { kind: "token", id: "constructor" }), rules.default);
});

Deno.test("limitsOf() takes the largest number of a caller's groups, though the default's is larger", () => {
  assert.deepEqual(limitsOf(rules, carol("night", "analysts", "others")), {
    calls_per_minute: 90,
    rows_per_day: 50,
    calls_at_once: 1,
    bytes_per_day: 7,
  });
});

Deno.test("limitsOf() knows an issuer's caller by issuer and subject before the subject alone", () => {
  const principals = { "u-17": { calls_at_once: 2 }, [`${issuer}#u-17`]: { calls_at_once: 3 } };
  assert.deepEqual(limitsOf({ principals }, carol()), { calls_at_once: 3 });
  assert.deepEqual(
    limitsOf({ principals }, {
      kind: "issuer",
      issuer: "https://other.example.com",
      subject: "u-17",
      groups: [],
    }),
    {
      calls_at_once: 2,
    },
  );
});

Deno.test("limitsOf() gives callers without a name the default alone", () => {
  const local: Principal = { kind: "local", address: "192.0.2.1" };
  assert.deepEqual(limitsOf({ principals: { local: { calls_at_once: 1 } } }, local), {});
  assert.deepEqual(limitsOf(rules, local), rules.default);
});

Deno.test("limitsOf() takes no rule from what every object has", () => {
  for (const username of ["constructor", "toString", "__proto__"]) {
    const named: Principal = { kind: "session", id: "s", username };
    assert.equal(limitsOf(rules, named), rules.default);
    assert.equal(limitsOf(rules, carol(username)).calls_at_once, 1);
    assert.equal(limitsOf({ ...rules, principals: {} }, carol(username)), rules.default);
  }
});
