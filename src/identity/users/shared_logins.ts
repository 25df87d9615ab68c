import { randomUUID } from "node:crypto";
import { sql } from "../../state/engine.ts";
import { endStatements, type State } from "../../state/state.ts";
import type { LoginCounts } from "./lockout.ts";
import type { UserRecord } from "./user_file.ts";

/** Logins of accounts that their file does not show. */
export interface Logins {
  of(user: UserRecord): LoginCounts;
  record(user: UserRecord, logins: LoginCounts): void;
  /** Tries once more to write what is left. */
  close(): Promise<void>;
}

/** An account that is made anew has nothing of the one before. */
const keyOf = ({ username, createdAt }: UserRecord): string => JSON.stringify([username, createdAt]);

/** A lockout does not end by itself. */
const keptMs = 10 * 365 * 24 * 3_600_000;

/**
 * Logins in a state that several servers share. Each may have the user file in a place where it cannot write, and then all
 * count together.
 *
 * @param accounts tells the accounts of several user files apart
 * @param options.maxFailedAttempts so many lock an account; more are not counted, with 0 none
 */
export function createSharedLogins(
  state: State,
  accounts: string,
  { maxFailedAttempts = Infinity, now = state.now }: { maxFailedAttempts?: number; now?: () => number } = {},
): Logins {
  // by account
  const failed = new Map<string, Set<string>>();
  const accountOf = new Map<string, string>();
  const succeededAt = new Map<string, number>();
  const attempts = state.of(attemptKind(accounts));
  const successes = state.of(`last login ${accounts}`);

  function add(id: string, account: string): void {
    accountOf.set(id, account);
    const ids = failed.get(account) ?? new Set();
    failed.set(account, ids.add(id));
  }
  function remove(id: string): void {
    failed.get(accountOf.get(id) ?? "")?.delete(id);
    accountOf.delete(id);
  }

  attempts.follow((id, record) => {
    if (record === undefined) remove(id);
    else if (typeof record.value === "string") add(id, record.value);
  });
  successes.follow((id, record) => {
    if (typeof record?.value === "number") succeededAt.set(id, record.value);
  });
  return {
    of(user) {
      const account = keyOf(user);
      return { succeededAt: succeededAt.get(account) ?? null, failed: failed.get(account)?.size ?? 0 };
    },
    record(user, { succeededAt: at, failed: count }) {
      const account = keyOf(user);
      // that the state does not answer refuses the login elsewhere: its address cannot be counted then
      const keep = (records: typeof attempts, id: string, value: string | number) =>
        void records.keep({ id, value, expiresAt: now() + keptMs }).catch(() => {});
      if (at !== null) {
        for (const id of [...failed.get(account) ?? []]) {
          remove(id);
          attempts.forget(id);
        }
        succeededAt.set(account, at);
        keep(successes, account, at);
      }
      const room = maxFailedAttempts - (failed.get(account)?.size ?? 0);
      for (let each = 0; each < Math.min(count, room); each++) {
        const id = randomUUID();
        add(id, account);
        keep(attempts, id, account);
      }
    },
    close: () => Promise.resolve(),
  };
}

/** Forgets the failed logins of an account that an administrator has enabled. */
export async function forgetFailedLogins(state: State, accounts: string, user: UserRecord): Promise<void> {
  const value = JSON.stringify(keyOf(user));
  const which = sql`kind = ${attemptKind(accounts)} AND value = ${value}`;
  await state.change(endStatements(which, state.now()), { isTold: true });
}

const attemptKind = (accounts: string) => `failed password ${accounts}`;
