import assert from "node:assert/strict";
import {
  afterLogins,
  failedLogin,
  joinLogins,
  mayStay,
  noLogins,
} from "../../../src/identity/users/lockout.ts";
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
const twoFailed = joinLogins(failedLogin, failedLogin);
const loggedIn = (succeededAt: number) => ({ succeededAt, failed: 0 });

Deno.test("failed logins add to those of the file, and lock at the threshold", () => {
  assert.deepEqual(afterLogins(user, twoFailed, 0), { ...user, failedAttempts: 4 });
  assert.deepEqual(afterLogins(user, twoFailed, 5), { ...user, failedAttempts: 4 });
  const locked = { ...user, failedAttempts: 4, enabled: false, disabledReason: "lockout" };
  assert.deepEqual(afterLogins(user, twoFailed, 4), locked);
  assert.deepEqual(afterLogins(user, twoFailed, 1), locked);
});

Deno.test("no logins change nothing, even where the file's count is past the threshold", () => {
  assert.deepEqual(afterLogins(user, noLogins, 1), user);
});

Deno.test("a success clears what failed before, in the file too, and sets the time to the second", () => {
  const logins = joinLogins(twoFailed, loggedIn(5999));
  assert.deepEqual(afterLogins(user, logins, 3), { ...user, failedAttempts: 0, lastLogin: 5000 });
  assert.deepEqual(afterLogins(user, joinLogins(logins, failedLogin), 3), {
    ...user,
    failedAttempts: 1,
    lastLogin: 5000,
  });
  assert.deepEqual(joinLogins(logins, twoFailed), { succeededAt: 5999, failed: 2 });
});

Deno.test("an account that is disabled by now stays as it is, but for the last login", () => {
  const disabled: UserRecord = { ...user, enabled: false, disabledReason: "administrator" };
  assert.deepEqual(afterLogins(disabled, twoFailed, 1), disabled);
  assert.deepEqual(afterLogins(disabled, loggedIn(5000), 1), { ...disabled, lastLogin: 5000 });
});

Deno.test("mayStay() is true of accounts that are enabled or locked, and of no others", () => {
  assert.ok(mayStay(user));
  assert.ok(mayStay({ ...user, enabled: false, disabledReason: "lockout" }));
  assert.ok(!mayStay({ ...user, enabled: false, disabledReason: "administrator" }));
  assert.ok(!mayStay({ ...user, enabled: false, disabledReason: null }));
  assert.ok(!mayStay(undefined));
});
