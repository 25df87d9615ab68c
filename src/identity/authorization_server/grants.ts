import type { Session } from "../authenticator.ts";
import type { PresentedToken } from "../presented_token.ts";
import { mayStay } from "../users/lockout.ts";
import type { AccountSource } from "../users/user_directory.ts";
import type { UserRecord } from "../users/user_file.ts";
import type { GrantStore } from "./grant_store.ts";
import { sha256 } from "../../core/text/sha256.ts";

/**
 * What an account was when its user let a client act for them: one that was made anew, or that has another password, has
 * another mark. A hash of a hash, from which neither is had.
 */
export function accountMark({ createdAt, passwordHash }: UserRecord): string {
  return sha256(`${createdAt ?? ""} ${passwordHash}`).slice(0, 32);
}

/** Whether what an account's user let clients do still holds: as for sessions, a lockout ends nothing. */
export function holds(account: UserRecord | undefined, mark: string): boolean {
  return mayStay(account) && accountMark(account) === mark;
}

interface GrantsOptions {
  readonly store: GrantStore;
  readonly accounts: AccountSource;
  /** Told of each grant that ends while this process runs and that a call used. */
  readonly onEnded: (session: Session) => void;
}

/** The grants of the moment: what an access token lets its bearer do, and when that is over. */
export type Grants = ReturnType<typeof createGrants>;

const lookEveryMs = 1_000;

export function createGrants(options: GrantsOptions) {
  const { store, accounts, onEnded } = options;
  // one object for a grant as long as it is in use: what is kept for a caller is looked up by it
  const inUse = new Map<string, Session>();

  /** Without scopes: the one that there is means everything that the user may do. */
  function sessionOf(grantId: string, username: string): Session | undefined {
    const known = inUse.get(grantId);
    if (known !== undefined) return known;
    const account = accounts.find(username);
    if (account === undefined) return undefined;
    const since = account.createdAt === null ? {} : { accountSince: account.createdAt };
    const session: Session = { id: grantId, username, ...since };
    inUse.set(grantId, session);
    return session;
  }

  function forgetEnded(): void {
    for (const [id, session] of inUse) {
      if (store.hasGrant(id)) continue;
      inUse.delete(id);
      onEnded(session);
    }
  }

  function end(grantId: string): boolean {
    const ended = store.endGrant(grantId);
    forgetEnded();
    return ended;
  }

  /** Ends what has expired; it also happens by itself. */
  function sweep(): void {
    store.sweep();
    // another process may have ended some
    forgetEnded();
  }

  const timer = setInterval(sweep, lookEveryMs);
  Deno.unrefTimer(timer);

  return {
    /** Those of access tokens that are for one resource; a token for another one stands for nothing there (RFC 8707). */
    of: (resource: string) => ({
      /** The session that an access token stands for; undefined where none has it, or its grant has ended. */
      find(presented: PresentedToken | undefined, nowMs: number): Session | undefined {
        if (presented === undefined) return undefined;
        const token = store.token(presented.hash, nowMs);
        return token?.audience === resource ? sessionOf(token.grantId, token.username) : undefined;
      },
    }),
    /** Ends a grant and everything that was given out for it, at once. @returns whether there was one */
    end,
    /** Ends the grants of accounts that are gone, disabled by an administrator, or have another password. */
    reconcile(): void {
      for (const { id, username, account } of store.grants()) {
        if (!holds(accounts.find(username), account)) end(id);
      }
    },
    sweep,
    get size() {
      return store.grantCount();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
