import { accessibleDatabases } from "../../identity/database_access.ts";
import { AppError } from "../../core/app_error.ts";
import { type Principal, principalKey } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";

export interface DirectoryEntry {
  readonly name: string;
  readonly available_to_users: readonly string[];
  readonly database: Database;
}

/** The databases that each principal may use and the one that they chose. */
export interface DatabaseDirectory {
  /** In the configuration's order. */
  list(principal: Principal): readonly { readonly name: string; readonly current: boolean }[];
  /**
   * The named database, or the current one where no name is given.
   * @throws {AppError} `not_found`, the same for a database that does not exist and one that may not be used.
   */
  resolve(principal: Principal, name: string | undefined): Database;
  /** Makes a database the current one of this token or session; throws as `resolve` does. */
  select(principal: Principal, name: string): Database;
  /** Forgets what a principal chose, once its token or session has ended; a session gets no database any more. */
  end(principal: Principal): void;
}

const rememberEndedMs = 60_000;

export function createDatabaseDirectory(entries: readonly DirectoryEntry[]): DatabaseDirectory {
  const chosen = new Map<string, string>();
  // other calls of the request that ended a session may still be about to start
  const ended = new Set<string>();

  function current(principal: Principal, accessible: readonly DirectoryEntry[]): DirectoryEntry | undefined {
    const name = chosen.get(principalKey(principal));
    return accessible.find((entry) => entry.name === name) ?? accessible[0];
  }

  function resolve(principal: Principal, name: string | undefined): Database {
    if (ended.has(principalKey(principal))) {
      throw new AppError("unauthorized", "Cannot use a database: logged out");
    }
    const accessible = accessibleDatabases(principal, entries);
    const entry = name === undefined
      ? current(principal, accessible)
      : accessible.find((candidate) => candidate.name === name);
    if (entry !== undefined) return entry.database;
    throw new AppError(
      "not_found",
      name === undefined
        ? "Cannot choose a database: none is available to you"
        : `Cannot use database ${JSON.stringify(name)}: there is none of that name available to you; ` +
          "list_databases shows those that are",
    );
  }

  return {
    resolve,
    list(principal) {
      const accessible = accessibleDatabases(principal, entries);
      const active = current(principal, accessible);
      return accessible.map((entry) => ({ name: entry.name, current: entry === active }));
    },
    select(principal, name) {
      const database = resolve(principal, name);
      chosen.set(principalKey(principal), name);
      return database;
    },
    end(principal) {
      const key = principalKey(principal);
      chosen.delete(key);
      // the id of a session is never used again, that of a token may be
      if (principal.kind !== "session") return;
      ended.add(key);
      Deno.unrefTimer(setTimeout(() => ended.delete(key), rememberEndedMs));
    },
  };
}
