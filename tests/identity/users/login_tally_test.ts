import assert from "node:assert/strict";
import {
  addFailure,
  addSuccess,
  applyTally,
  joinTallies,
  noLogins,
} from "../../../src/identity/users/login_tally.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";

const user: UserRecord = {
  username: "alice",
  passwordHash: "",
  annotation: null,
  createdAt: null,
  lastLogin: 1000,
  enabled: true,
  failedAttempts: 2,
  disabledReason: null,
};
const twoFailures = addFailure(addFailure(noLogins));

Deno.test("failures add to those of the file, and lock at the threshold", () => {
  assert.deepEqual(applyTally(user, twoFailures, 0), { ...user, failedAttempts: 4 });
  assert.deepEqual(applyTally(user, twoFailures, 5), { ...user, failedAttempts: 4 });
  const locked = { ...user, failedAttempts: 4, enabled: false, disabledReason: "lockout" };
  assert.deepEqual(applyTally(user, twoFailures, 4), locked);
  assert.deepEqual(applyTally(user, twoFailures, 1), locked);
});

Deno.test("no logins change nothing, even where the file's count is past the threshold", () => {
  assert.deepEqual(applyTally(user, noLogins, 1), user);
});

Deno.test("a success clears what failed before, in the file too, and sets the time to the second", () => {
  const tally = joinTallies(twoFailures, addSuccess(5999));
  assert.deepEqual(applyTally(user, tally, 3), { ...user, failedAttempts: 0, lastLogin: 5000 });
  assert.deepEqual(applyTally(user, addFailure(tally), 3), { ...user, failedAttempts: 1, lastLogin: 5000 });
  assert.deepEqual(joinTallies(tally, twoFailures), { succeededAt: 5999, failures: 2 });
});

Deno.test("an account that is disabled by now stays as it is, but for the last login", () => {
  const disabled: UserRecord = { ...user, enabled: false, disabledReason: "administrator" };
  assert.deepEqual(applyTally(disabled, twoFailures, 1), disabled);
  assert.deepEqual(applyTally(disabled, addSuccess(5000), 1), { ...disabled, lastLogin: 5000 });
});
