import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createConnectionPools } from "../postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../postgres/database.ts";
import { createStatementGuard } from "../postgres/guard/statement_guard.ts";
import { openConfiguredDatabases } from "./open_databases.ts";

/** The tool server's databases without a server. @throws {AppError} as `openConfiguredDatabases` */
export async function openToolDatabases(
  config: Config,
  logger: Logger,
): Promise<AsyncDisposable & { readonly list: readonly Database[] }> {
  await using opening = new AsyncDisposableStack();
  const databases = opening.use(await openConfiguredDatabases(config, logger));
  const pools = opening.use(createConnectionPools({ maxConnections: config.max_connections, logger }));
  const guard = await createStatementGuard();
  const list = databases.list.map(({ options }) => createDatabase({ options, pools, guard, logger }));
  const stack = opening.move();
  return { list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
