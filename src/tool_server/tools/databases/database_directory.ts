import { z } from "zod";
import { AppError } from "../../../core/app_error.ts";
import { bearerKey, type Principal } from "../../../core/principal.ts";
import { type AccessObject, grantedTo } from "../../../identity/access_rules.ts";
import type { Database } from "../../../postgres/database.ts";
import type { DatabaseOptions } from "../../../postgres/database_options.ts";
import { didYouMean } from "../../../core/text/near_name.ts";
import type { StateRecords } from "../../../state/state.ts";

export interface DirectoryEntry extends AccessObject {
  readonly kind: "database";
  readonly database: Database;
  /** Optional: none where it is told to nobody. */
  readonly address?: DatabaseAddress;
}

const rememberEndedMs = 60_000;
/** How long a choice is kept of a token or session whose end nobody told. */
const keepChosenMs = 90 * 24 * 3_600_000;
/** Of a name that a hint is looked for; a caller may have made it up. */
const maxNameLength = 100;

/**
 * The databases that each principal may use and the one that they chose. `entries` is looked at in each call.
 * @param onSelect is told of whoever has another current database than before
 * @param kept keeps choices over restarts, and for other processes. Optional; in memory alone without it
 */
export function createDatabaseDirectory(
  entries: readonly DirectoryEntry[],
  onSelect: (bearerKey: string) => void = () => {},
  kept?: StateRecords,
) {
  const chosen = new Map<string, string>();
  kept?.follow((id, record) => {
    const name = typeof record?.value === "string" ? record.value : undefined;
    if (name === chosen.get(id)) return;
    if (name === undefined) chosen.delete(id);
    else chosen.set(id, name);
    onSelect(id);
  });
  // other calls of the request that ended a session may still be about to start
  const ended = new Set<string>();

  function current(principal: Principal, accessible: readonly DirectoryEntry[]): DirectoryEntry | undefined {
    const name = chosen.get(bearerKey(principal));
    return accessible.find((entry) => entry.name === name) ?? accessible[0];
  }

  /**
   * The named database, or the current one where no name is given.
   * @throws {AppError} `not_found`, the same for a database that does not exist and one that may not be used.
   */
  function resolve(principal: Principal, name: string | undefined): Database {
    if (ended.has(bearerKey(principal))) {
      throw new AppError("unauthorized", "Cannot use a database: logged out");
    }
    const accessible = grantedTo(principal, entries);
    const entry = name === undefined
      ? current(principal, accessible)
      : accessible.find((candidate) => candidate.name === name);
    if (entry !== undefined) return entry.database;
    throw new AppError(
      "not_found",
      name === undefined
        ? "Cannot choose a database: none is available to you"
        : `Cannot use database ${
          JSON.stringify(name)
        }: no database of that name is available to you; list_databases shows the available ones` +
          didYouMean(name.slice(0, maxNameLength), accessible.map((each) => each.name)),
    );
  }

  return {
    resolve,
    /** In the configuration's order. */
    list(principal: Principal): { name: string; current: boolean }[] {
      const accessible = grantedTo(principal, entries);
      const active = current(principal, accessible);
      return accessible.map((entry) => ({ name: entry.name, current: entry === active }));
    },
    /** Where a database is; undefined for one that the principal may not use. */
    addressOf(principal: Principal, name: string): DatabaseAddress | undefined {
      return grantedTo(principal, entries).find((entry) => entry.name === name)?.address;
    },
    /** The same for principals with one key only where they may read the same rows. */
    rightsOf(principal: Principal): string {
      const keys = grantedTo(principal, entries).map(({ name, database }) => [
        name,
        database.rightsKey(principal),
      ]);
      return JSON.stringify(keys.filter(([, key]) => key !== ""));
    },
    /**
     * Makes a database the current one of this token or session, at other processes within a second; throws as `resolve`
     * does, and {@linkcode AppError} `unavailable` where other servers would not know it.
     */
    async select(principal: Principal, name: string): Promise<void> {
      const selected = resolve(principal, name);
      const before = resolve(principal, undefined);
      const id = bearerKey(principal);
      // without a token a choice is nobody's who could be known again
      if (principal.kind !== "local") {
        await kept?.keep({ id, value: name, expiresAt: Date.now() + keepChosenMs });
        // its session may have ended meanwhile
        resolve(principal, name);
      }
      // others may have been told of it already
      if (chosen.get(id) === name) return;
      chosen.set(id, name);
      if (selected !== before) onSelect(id);
    },
    /** Forgets what a principal chose, once its token or session has ended; a session gets no database any more. */
    end(principal: Principal): void {
      const key = bearerKey(principal);
      chosen.delete(key);
      kept?.forget(key);
      // the id of a session is never used again, that of a token may be
      if (principal.kind !== "session") return;
      ended.add(key);
      Deno.unrefTimer(setTimeout(() => ended.delete(key), rememberEndedMs));
    },
  };
}

export type DatabaseDirectory = ReturnType<typeof createDatabaseDirectory>;

/** The optional argument of every tool that touches a database. */
export const databaseArgument = z.string().min(1).max(128).optional()
  .describe("Default: the current one.");

/** Where a database is, in the words of pgEdge's server, which shows it to those who may use the database. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  /** Where there are several. */
  readonly hosts?: readonly { readonly host: string; readonly port: number }[];
  readonly target_session_attrs?: string;
  readonly database: string;
  readonly user: string;
  readonly sslmode: string;
}

export function addressOf(options: DatabaseOptions): DatabaseAddress {
  const { hosts, targetSessionAttrs, database, user, sslMode: sslmode, openStream } = options;
  if (openStream !== undefined) return { host: "embedded", port: 0, database, user, sslmode };
  const first = hosts[0] ?? { host: "", port: 0 };
  return {
    ...first,
    ...(hosts.length > 1 && { hosts, target_session_attrs: targetSessionAttrs }),
    database,
    user,
    sslmode,
  };
}
