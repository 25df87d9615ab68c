import type { Database } from "../../postgres/database.ts";
import { type Principal, principalKey } from "../../core/principal.ts";
import { sha256 } from "../../core/text/sha256.ts";

/** A request that was answered, and what the answer was made with. Rows are never part of it. */
export interface HistoryEntry {
  /** As `historyDatabase` names it. */
  readonly database: string;
  readonly question: string;
  readonly reply:
    | { readonly kind: "statement"; readonly sql: string }
    | { readonly kind: "question"; readonly text: string };
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * What callers asked lately, so that a request may refer to earlier ones. Of each owner it keeps the last
 * `entriesPerOwner` entries, over all databases, for `entryLifetimeMs`. A history that cannot be read or written must
 * not stop the question: only `forget` throws.
 */
export interface History extends Disposable {
  /** The entries about one database, oldest first. */
  recent(owner: string, database: string): readonly HistoryEntry[];
  /** Another number after each `forget` of the owner. */
  generation(owner: string): number;
  /**
   * Keeps an entry, unless a text of it is longer than `maxEntryText`: half a statement would mislead whoever reads it.
   * It also drops an entry whose request began in another generation, because the owner has called `forget` since.
   */
  add(owner: string, entry: HistoryEntry, generation: number): void;
  /**
   * Removes an owner's entries about all databases and returns how many there were.
   * @throws {AppError} `unavailable` where they may still be there
   */
  forget(owner: string): number;
  /** Removes what has outlived `entryLifetimeMs`, whoever's it is. */
  clearExpired(): void;
}

export const entriesPerOwner = 20;
export const entryLifetimeMs = 24 * 60 * 60 * 1000;
/** Longest question and longest reply that is kept, in UTF-16 units. */
const maxEntryText = 8192;

/** Whose history a call's is: a user's over all sessions, a token's, an issuer's subject's, or that of the one local caller. */
export function historyOwner(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return "local";
    case "token":
      return `token:${principal.id}`;
    case "issuer":
      return principalKey(principal);
    case "session": {
      const { username, accountSince } = principal;
      return accountSince === undefined ? `user:${username}` : `user:${username}@${accountSince}`;
    }
  }
}

/**
 * Under which name a history keeps what a caller asks about a database. With other rights there, such as a token for another
 * tenant, the same caller builds on other requests: they hold values of what could be read with those.
 */
export function historyDatabase(
  { name, rightsKey }: Pick<Database, "name" | "rightsKey">,
  principal: Principal,
): string {
  const rights = rightsKey(principal);
  return rights === "" ? name : `${name} as ${sha256(rights).slice(0, 32)}`;
}

/** A reply's statement or question back. */
export function replyText({ reply }: HistoryEntry): string {
  return reply.kind === "statement" ? reply.sql : reply.text;
}

/** Whether an entry is small enough to be kept. */
export function isKept(entry: HistoryEntry): boolean {
  return entry.question.length <= maxEntryText && replyText(entry).length <= maxEntryText;
}

// twenty entries are about 20 KB, so this many owners take some 20 MB
const maxOwners = 1000;

interface Owned {
  readonly entries: readonly HistoryEntry[];
  readonly generation: number;
}

/** A history that lasts as long as the process. Of too many owners, the one that asked longest ago is dropped. */
export function createMemoryHistory({ now }: { now: () => number }): History {
  const ownedBy = new Map<string, Owned>();
  // generations of dropped owners, so that forgotten entries do not return with them
  let generationOfAbsent = 0;

  function current(owner: string): Owned {
    const since = now() - entryLifetimeMs;
    const { entries, generation } = ownedBy.get(owner) ?? { entries: [], generation: generationOfAbsent };
    return { entries: entries.filter(({ at }) => at > since), generation };
  }

  /** A map keeps its keys in the order in which they came: the last to ask goes to the end. */
  function put(owner: string, owned: Owned): void {
    ownedBy.delete(owner);
    ownedBy.set(owner, owned);
    const [first] = ownedBy;
    if (ownedBy.size <= maxOwners || first === undefined) return;
    const [longestAgo, { generation }] = first;
    ownedBy.delete(longestAgo);
    generationOfAbsent = Math.max(generationOfAbsent, generation);
  }

  return {
    recent: (owner, database) => current(owner).entries.filter((entry) => entry.database === database),

    generation: (owner) => current(owner).generation,

    add(owner, entry, generation) {
      const { entries, generation: latest } = current(owner);
      if (!isKept(entry) || generation !== latest) return;
      put(owner, { entries: [...entries, entry].slice(-entriesPerOwner), generation });
    },

    forget(owner) {
      const { entries, generation } = current(owner);
      put(owner, { entries: [], generation: generation + 1 });
      return entries.length;
    },

    clearExpired() {
      for (const owner of ownedBy.keys()) ownedBy.set(owner, current(owner));
    },

    [Symbol.dispose]: () => ownedBy.clear(),
  };
}
