import { randomUUID } from "node:crypto";
import type { Database } from "../../postgres/database.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { type Principal, principalKey } from "../../core/principal.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { sql } from "../../state/engine.ts";
import { currentVersion, type State } from "../../state/state.ts";

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

const entriesPerOwner = 20;
const entryLifetimeMs = 24 * 60 * 60 * 1000;
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

/** Where it cannot be told; nothing is kept then. */
const unknownGeneration = -1;

const entryKind = "question";
const forgottenKind = "questions forgotten";

export type History = ReturnType<typeof createHistory>;

/**
 * What callers asked lately, so that a request may refer to earlier ones. Of each owner it keeps the last
 * `entriesPerOwner` entries, over all databases, for `entryLifetimeMs`. A history that cannot be read or written must
 * not stop the question: only `forget` throws.
 */
export function createHistory(state: State, logger: Logger) {
  async function orWarn<T>(doing: string, otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      logger.warn(`Cannot ${doing} the history; the request continues without it`, { error });
      return otherwise;
    }
  }
  const generationOf = (owner: string) =>
    sql`SELECT coalesce(max(version), 0) FROM records WHERE kind = ${forgottenKind} AND id = ${owner}`;
  const ofOwner = (owner: string) => sql`kind = ${entryKind} AND owner = ${owner}`;

  return {
    /** The entries about one database, oldest first, and the owner's generation: another number after each `forget`. */
    recent: (owner: string, database: string) =>
      orWarn("read", { entries: [], generation: unknownGeneration }, async () => {
        const [[generation] = [], rows = []] = await state.read([
          sql`SELECT (${generationOf(owner)}) AS generation`,
          sql`SELECT value, created_at FROM records
            WHERE ${ofOwner(owner)} AND alias = ${database} AND expires_at > ${state.now()} ORDER BY version`,
        ]);
        const entries = rows.map(({ value, created_at: at }): HistoryEntry => (
          { ...JSON.parse(String(value)), database, at: Number(at) }
        ));
        return { entries, generation: Number(generation?.["generation"]) };
      }),

    /**
     * Keeps an entry, unless a text of it is longer than `maxEntryText`: half a statement would mislead whoever reads it.
     * It also drops an entry whose request began in another generation, because the owner has called `forget` since.
     */
    async add(owner: string, entry: HistoryEntry, generation: number): Promise<void> {
      const { database, question, reply, at } = entry;
      const told = reply.kind === "statement" ? reply.sql : reply.text;
      if (Math.max(question.length, told.length) > maxEntryText || generation === unknownGeneration) return;
      const value = JSON.stringify({ question, reply });
      await orWarn("write to", undefined, () =>
        state.change([
          sql`INSERT INTO records (kind, id, alias, owner, value, created_at, expires_at, version)
            SELECT ${entryKind}, ${randomUUID()}, ${database}, ${owner}, ${value}, ${at},
              ${at + entryLifetimeMs}, ${currentVersion}
            WHERE (${generationOf(owner)}) = ${generation}`,
          sql`DELETE FROM records WHERE ${ofOwner(owner)} AND version <=
            (SELECT version FROM records WHERE ${
            ofOwner(owner)
          } ORDER BY version DESC LIMIT 1 OFFSET ${entriesPerOwner})`,
        ], { mayBeLost: true }).then(() => {}));
    },

    /**
     * Removes an owner's entries about all databases and returns how many there were.
     * @throws {AppError} `unavailable` where they may still be there
     */
    async forget(owner: string): Promise<number> {
      const time = state.now();
      try {
        const [forgotten = []] = await state.change([
          sql`DELETE FROM records WHERE ${ofOwner(owner)} RETURNING expires_at`,
          sql`INSERT INTO records (kind, id, value, created_at, expires_at, version)
            VALUES (${forgottenKind}, ${owner}, 'null', ${time}, ${time + entryLifetimeMs}, ${currentVersion})
            ON CONFLICT (kind, id) DO UPDATE SET expires_at = excluded.expires_at, version = excluded.version`,
        ], { erases: true });
        return forgotten.filter((row) => Number(row["expires_at"]) > time).length;
      } catch (cause) {
        throw new AppError("unavailable", "Cannot clear the history: try again later", { cause });
      }
    },
  };
}
