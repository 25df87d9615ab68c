import { withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { callerSettingFaults } from "../../postgres/caller_setting_faults.ts";
import type { Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { PoolEndedError } from "../../postgres/pool/principal_pool.ts";
import type { SettingPath } from "../../core/yaml/value_tree.ts";
import { unmatchedColumnWarnings } from "../../postgres/catalog/private_columns.ts";
import type { Config } from "../../config/mod.ts";

export interface WarnedDatabase {
  readonly database: Database;
  /** What it was opened with. */
  readonly options: DatabaseOptions;
  /** The full name of a setting in the database's entry. */
  readonly settingAt: (path: SettingPath) => string;
}

const lookTimeoutMs = 10_000;

/**
 * Warns of each database that cannot be reached yet, whose role may do more than read, or that refuses what its callers'
 * statements begin with. One that cannot be reached is looked at when it first is, and then no more. The server neither
 * waits for this nor stops because of it.
 */
export async function logStartupWarnings(
  databases: readonly WarnedDatabase[],
  logger: Logger,
): Promise<void> {
  await Promise.all(databases.map(async (each) => {
    const { database: { name, onceReached } } = each;
    try {
      await logWarnings(each, logger);
    } catch (error) {
      // the server stops, or has another configuration now: it says nothing of the database
      if (error instanceof PoolEndedError) return;
      const message = "The database is not ready; its tools and pipelines work as soon as it is";
      logger.warn(message, { database: name, error });
      onceReached(() =>
        void logWarnings(each, logger).catch((error) => {
          logger.warn("Cannot find out what the database's role may do", { database: name, error });
        })
      );
    }
  }));
}

/** Warns of columns to exclude that no database has; where one cannot be reached, that is not known, and nothing is said. */
export async function logUnmatchedColumns(
  excludedColumns: readonly string[],
  databases: readonly Database[],
  logger: Logger,
): Promise<void> {
  const warnings = await withDeadline(
    lookTimeoutMs,
    undefined,
    (signal) => unmatchedColumnWarnings(excludedColumns, databases, signal),
  ).catch(() => []);
  for (const warning of warnings) logger.warn(warning);
}

async function logWarnings(
  { database, options, settingAt }: WarnedDatabase,
  logger: Logger,
): Promise<void> {
  const warnings = await withDeadline(lookTimeoutMs, undefined, async (signal) => {
    const ofRole = await database.warnings(signal);
    const faults = await callerSettingFaults(database, options, signal);
    return [...ofRole, ...faults.map(({ path, message }) => `${settingAt(path)}: ${message}`)];
  });
  for (const warning of warnings) logger.warn(warning, { database: database.name });
}

/**
 * One warning for each user of `console.administrators` without an account. A user file that cannot be read has faults of
 * its own: nothing is said of its users.
 */
export async function administratorWarnings({ console, http, server }: Config): Promise<string[]> {
  const { enabled, user_file: path } = (http.enabled ? http : server).auth;
  const users = console.administrators.filter((name) => !name.startsWith("group:"));
  if (users.length === 0 || !enabled) return [];
  const { readUserFile } = await import("../../identity/users/user_file.ts");
  const accounts = await readUserFile(path).then(({ records }) => records, () => undefined);
  return users.filter((user) => accounts?.every(({ username }) => username !== user)).map((user) =>
    `console.administrators names ${JSON.stringify(user)}, who has no account in ${path}: -add-user makes one`
  );
}
