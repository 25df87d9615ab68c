import type { UserRecord } from "./user_file.ts";

/** Logins of one account that its file does not show yet. */
export interface LoginTally {
  /** When the last one succeeded, in milliseconds since 1970; null where none did. */
  readonly succeededAt: number | null;
  /** How many have failed since then. */
  readonly failures: number;
}

export const noLogins: LoginTally = { succeededAt: null, failures: 0 };

export function addFailure(tally: LoginTally): LoginTally {
  return { ...tally, failures: tally.failures + 1 };
}

export function addSuccess(succeededAt: number): LoginTally {
  return { succeededAt, failures: 0 };
}

/** Two tallies, one after the other, as one. */
export function joinTallies(earlier: LoginTally, later: LoginTally): LoginTally {
  return later.succeededAt === null ? { ...earlier, failures: earlier.failures + later.failures } : later;
}

/**
 * An account after the logins of a tally. As many failures in a row as `maxFailedAttempts` disable it, where that is
 * not 0. It is a difference and not a state, so that it also applies to what an administrator has just changed.
 */
export function applyTally(user: UserRecord, tally: LoginTally, maxFailedAttempts: number): UserRecord {
  // to the second, as the file keeps it
  const lastLogin = tally.succeededAt === null ? user.lastLogin : Math.floor(tally.succeededAt / 1000) * 1000;
  if (!user.enabled) return { ...user, lastLogin };
  const failedAttempts = tally.failures + (tally.succeededAt === null ? user.failedAttempts : 0);
  const locked = maxFailedAttempts > 0 && tally.failures > 0 && failedAttempts >= maxFailedAttempts;
  return {
    ...user,
    lastLogin,
    failedAttempts,
    ...(locked ? { enabled: false, disabledReason: "lockout" } : {}),
  };
}
