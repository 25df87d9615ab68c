import type { Config, DatabaseConfig } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import { createEmbeddedServer, embeddedDatabaseName } from "../postgres/embedded/embedded_server.ts";
import { databaseOptions } from "./database_options.ts";
import { createDemoDatabase, demoDatabaseOptions } from "../demo/demo_database.ts";

export interface OpenDatabase {
  readonly options: DatabaseOptions;
  readonly availableToUsers: readonly string[];
}

/** The databases that a server serves; disposing of them stops the embedded ones among them. */
export interface OpenDatabases extends AsyncDisposable {
  readonly list: readonly OpenDatabase[];
}

/** @throws {AppError} `unavailable` where an embedded database does not start */
export async function openConfiguredDatabases(config: Config, logger: Logger): Promise<OpenDatabases> {
  const stack = new AsyncDisposableStack();
  const list: OpenDatabase[] = [];
  for (const database of config.databases) {
    const options = databaseOptions(database, config.pass_file);
    list.push({
      options: database.embedded === undefined ? options : {
        ...options,
        ...await openEmbedded(database, database.embedded, stack, logger),
      },
      availableToUsers: database.available_to_users,
    });
  }
  return { list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/**
 * The databases of a configuration that has changed: those that are as they were keep their options, and the embedded ones
 * are those of the start.
 */
export function changedDatabases(
  config: Config,
  before: readonly OpenDatabase[],
  logger: Logger,
): readonly OpenDatabase[] {
  return config.databases.flatMap((database) => {
    const availableToUsers = database.available_to_users;
    const old = before.find(({ options }) => options.name === database.name);
    if (database.embedded !== undefined || old?.options.openStream !== undefined) {
      if (old?.options.openStream !== undefined && database.embedded !== undefined) {
        return { options: old.options, availableToUsers };
      }
      logger.warn("An embedded database is opened and closed at the start alone", {
        database: database.name,
      });
      return old === undefined ? [] : { options: old.options, availableToUsers };
    }
    const options = databaseOptions(database, config.pass_file);
    const isSame = JSON.stringify(options) === JSON.stringify(old?.options);
    return { options: isSame && old !== undefined ? old.options : options, availableToUsers };
  });
}

/** The demo's shop alone. @throws {AppError} `unavailable` where it does not start */
export async function openDemoDatabase(logger: Logger): Promise<OpenDatabases> {
  const statementTimeoutMs = 30_000;
  const server = await createDemoDatabase({ statementTimeoutMs, logger });
  return {
    list: [{ options: demoDatabaseOptions(server, statementTimeoutMs), availableToUsers: [] }],
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function openEmbedded(
  database: DatabaseConfig,
  dataDir: string,
  stack: AsyncDisposableStack,
  logger: Logger,
): Promise<Pick<DatabaseOptions, "openStream" | "database">> {
  const server = await createEmbeddedServer({
    dataDir,
    statementTimeoutMs: database.statement_timeout,
    logger,
  });
  stack.defer(() => server.close());
  return { openStream: server.openStream, database: embeddedDatabaseName };
}
