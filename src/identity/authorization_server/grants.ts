import { AppError } from "../../core/app_error.ts";
import type { GrantCaller, Session } from "../authenticator.ts";
import type { IssuerLogins } from "../issuer_login/issuer_logins.ts";
import { everyScope, readScopes } from "../own_scopes.ts";
import type { PresentedToken } from "../presented_token.ts";
import { mayStay } from "../users/lockout.ts";
import type { AccountSource } from "../users/user_directory.ts";
import type { UserRecord } from "../users/user_file.ts";
import type { GrantStore, TokenRecord } from "./grant_store.ts";
import { sha256 } from "../../core/text/sha256.ts";

/**
 * What an account was when its user let a client act for them: one that was made anew, or that has another password, has
 * another mark. A hash of a hash, from which neither is had.
 */
export function accountMark({ createdAt, passwordHash }: UserRecord): string {
  return sha256(`${createdAt ?? ""} ${passwordHash}`).slice(0, 32);
}

/** What stands in the place of an account's mark where somebody logged in at an issuer. No account has it. */
export const issuerMark = "issuer";

/** Whether what an account's user let clients do still holds: as for sessions, a lockout ends nothing. */
export function holds(account: UserRecord | undefined, mark: string): boolean {
  return mayStay(account) && accountMark(account) === mark;
}

interface GrantsOptions {
  readonly store: GrantStore;
  readonly accounts: AccountSource;
  /** Optional: throws where what is remembered of grants may not be relied on. */
  readonly requireCurrent?: () => void;
  /** Optional: whether other servers have user files of their own, which may differ for a while. */
  readonly othersDecide?: boolean;
  /** Optional: none where nobody logs in at an issuer. */
  readonly logins?: Pick<IssuerLogins, "current" | "covers"> | undefined;
  /** Told of each grant that ends while this process runs and that a call used. */
  readonly onEnded: (caller: GrantCaller) => void;
}

/** The grants of the moment: what an access token lets its bearer do, and when that is over. */
export type Grants = ReturnType<typeof createGrants>;

/** How often it is looked whether grants in use have ended by themselves. */
const lookEveryMs = 60_000;
/** Access tokens that are remembered; others are looked up in each call. */
const mostRemembered = 10_000;
/** That wait to be looked up together. */
const mostWaiting = 1_000;

export function createGrants(options: GrantsOptions) {
  const { store, accounts, logins, onEnded, requireCurrent = () => {} } = options;
  // one object for a grant as long as it is in use: what is kept for a caller is looked up by it
  const inUse = new Map<string, GrantCaller>();
  // people as their login has them, and with their grant's scopes
  const callers = new WeakMap<GrantCaller, GrantCaller>();
  // by their hashes
  const tokens = new Map<string, TokenRecord>();
  const waiting = new Set<string>();
  let looking: Promise<ReadonlyMap<string, TokenRecord>> | undefined;
  let next: Promise<ReadonlyMap<string, TokenRecord>> | undefined;
  let count = 0;
  let ends = 0;
  let isReconcileDue = false;

  async function personOf({ grantId, username, scope }: TokenRecord): Promise<GrantCaller | undefined> {
    const person = logins?.covers(username) ? await logins.current(grantId) : undefined;
    if (person === undefined) return undefined;
    const caller = callers.get(person) ?? { ...person, ...boundBy(scope) };
    callers.set(person, caller);
    inUse.set(grantId, caller);
    return caller;
  }

  function sessionOf(token: TokenRecord): GrantCaller | undefined | Promise<GrantCaller | undefined> {
    const { grantId, username, account: mark, scope } = token;
    if (mark === issuerMark) return personOf(token);
    const account = accounts.find(username);
    // another server may have let in whom this one's file does not
    if (account === undefined || !holds(account, mark)) return undefined;
    const known = inUse.get(grantId);
    if (known !== undefined) return known;
    const since = account.createdAt === null ? {} : { accountSince: account.createdAt };
    const session: Session = { id: grantId, username, ...since, ...boundBy(scope) };
    inUse.set(grantId, session);
    return session;
  }

  function forget(grantId: string): void {
    const session = inUse.get(grantId);
    if (session === undefined) return;
    inUse.delete(grantId);
    for (const [hash, token] of tokens) if (token.grantId === grantId) tokens.delete(hash);
    onEnded(session);
  }

  /**
   * Ends the grants of accounts that are gone, disabled by an administrator, or have another password. Where that fails, it is
   * tried again by itself.
   */
  async function reconcile(): Promise<void> {
    isReconcileDue = true;
    for (const { id, username, account } of await store.grants()) {
      const isPerson = account === issuerMark;
      if (isPerson ? logins?.covers(username) : holds(accounts.find(username), account)) continue;
      // others may have another file for a while: what ends here goes on there
      if (options.othersDecide) forget(id);
      else await store.endGrant(id);
    }
    isReconcileDue = false;
  }

  /** Forgets the grants that have ended; it also happens by itself. */
  async function look(): Promise<void> {
    try {
      if (isReconcileDue) await reconcile();
      // a grant that a call uses meanwhile was not asked for
      const asked = [...inUse.keys()];
      const present = await store.present(asked);
      for (const id of asked) if (!present.has(id)) forget(id);
      count = await store.grantCount();
    } catch {
      // it is tried again; that the state does not answer is told elsewhere
    }
  }

  store.onEnded((id) => {
    ends++;
    if (id === undefined) {
      tokens.clear();
      void look();
    } else if (!tokens.delete(id)) forget(id);
  });
  const timer = setInterval(look, lookEveryMs);
  Deno.unrefTimer(timer);

  /** Those that come while others are looked up are looked up together. */
  async function lookUpWaiting(nowMs: number): Promise<ReadonlyMap<string, TokenRecord>> {
    await looking?.catch(() => {});
    const hashes = [...waiting];
    waiting.clear();
    next = undefined;
    let before = ends;
    let found = await (looking = store.tokens(hashes, nowMs));
    // what was read may have ended while it came
    if (ends !== before) {
      before = ends;
      found = await (looking = store.tokens(hashes, nowMs));
    }
    // what may have ended again is not relied on
    if (ends !== before) return found;
    for (const [hash, token] of found) if (tokens.size < mostRemembered) tokens.set(hash, token);
    return found;
  }

  async function lookUp(hash: string, nowMs: number): Promise<TokenRecord | undefined> {
    if (waiting.size >= mostWaiting) {
      throw new AppError("unavailable", "Cannot look up the token: too many are unknown", {
        data: { retryAfterSeconds: 1 },
      });
    }
    waiting.add(hash);
    return (await (next ??= lookUpWaiting(nowMs))).get(hash);
  }

  return {
    /** Those of access tokens that are for one resource; a token for another one stands for nothing there (RFC 8707). */
    of: (resource: string) => ({
      /**
       * The session that an access token stands for; undefined where none has it, or its grant has ended.
       * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where it cannot be told now
       */
      find(
        presented: PresentedToken | undefined,
        nowMs: number,
      ): GrantCaller | undefined | Promise<GrantCaller | undefined> {
        if (presented === undefined) return undefined;
        const meant = (token: TokenRecord | undefined) =>
          token?.audience === resource ? sessionOf(token) : undefined;
        const known = tokens.get(presented.hash);
        if (known === undefined) return lookUp(presented.hash, nowMs).then(meant);
        if (known.expiresAt <= nowMs) return void tokens.delete(presented.hash);
        requireCurrent();
        return meant(known);
      },
    }),
    /** Ends a grant and everything that was given out for it, at once. @returns whether there was one */
    end: (grantId: string): Promise<boolean> => store.endGrant(grantId),
    reconcile,
    look,
    /** As of the last look. */
    get size() {
      return count;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The scopes that bind a token; all tokens of a grant have the same. */
function boundBy(scope: unknown): { readonly scopes?: readonly string[] } {
  const scopes = readScopes(scope);
  return scopes.includes(everyScope) ? {} : { scopes };
}
