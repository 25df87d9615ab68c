export type DisabledReason = "lockout" | "administrator";

/** Whether a user may log in, and what of earlier logins decides it. */
export interface LockoutState {
  /** In milliseconds since 1970; null: never. */
  readonly lastLogin: number | null;
  readonly enabled: boolean;
  /** Failed logins since the last that succeeded. */
  readonly failedAttempts: number;
  /** Null while the account is enabled, and where another program disabled it without saying why. */
  readonly disabledReason: DisabledReason | null;
}

/** Logins of one account that its file does not show yet. */
export interface LoginCounts {
  /** When the last one succeeded, in milliseconds since 1970; null where none did. */
  readonly succeededAt: number | null;
  /** How many have failed since then. */
  readonly failed: number;
}

/**
 * An account after some logins. `maxFailedAttempts` that failed in a row lock it, which the setting
 * `max_failed_attempts_before_lockout` says (`config/schema/auth.ts`); 0: they never do. It stays locked until it is
 * `unlocked`: no time and no password does that. The logins are counts that are added, so that they also apply to an
 * account that an administrator has just changed.
 */
export function afterLogins<User extends LockoutState>(
  user: User,
  logins: LoginCounts,
  maxFailedAttempts: number,
): User {
  const { succeededAt, failed } = logins;
  // to the second, as the file keeps it
  const lastLogin = succeededAt === null ? user.lastLogin : Math.floor(succeededAt / 1000) * 1000;
  if (!user.enabled) return { ...user, lastLogin };
  const failedAttempts = failed + (succeededAt === null ? user.failedAttempts : 0);
  const locked = maxFailedAttempts > 0 && failed > 0 && failedAttempts >= maxFailedAttempts;
  return {
    ...user,
    lastLogin,
    failedAttempts,
    ...(locked ? { enabled: false, disabledReason: "lockout" } : {}),
  };
}

export const noLogins: LoginCounts = { succeededAt: null, failed: 0 };

export const failedLogin: LoginCounts = { succeededAt: null, failed: 1 };

/**
 * Whether what a user's earlier logins gave stays, sessions and grants. A lockout ends none of it, as anyone who knows a name
 * can cause one.
 */
export function mayStay<User extends LockoutState>(user: User | undefined): user is User {
  return user !== undefined && (user.enabled || user.disabledReason === "lockout");
}

/** An account as an administrator enables it, whatever had disabled it. */
export function unlocked<User extends LockoutState>(user: User): User {
  return { ...user, enabled: true, failedAttempts: 0, disabledReason: null };
}

/** The counts of earlier and later logins together. */
export function joinLogins(earlier: LoginCounts = noLogins, later: LoginCounts = noLogins): LoginCounts {
  return later.succeededAt === null ? { ...earlier, failed: earlier.failed + later.failed } : later;
}
