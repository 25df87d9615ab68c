import type { Logger } from "../core/logger.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import {
  createEmbeddedServer,
  embeddedDatabaseName,
  type EmbeddedServer,
} from "../postgres/embedded/embedded_server.ts";
import { demoHandbookSql } from "./demo_handbook.ts";
import { demoRole, demoShopSql } from "./demo_shop.ts";
import { readSnapshot } from "./snapshot_file.ts";

/**
 * Starts a server in memory that holds the shop and its handbook.
 *
 * @throws AppError `unavailable` where the database doesn't start
 */
export async function createDemoDatabase(
  options: { statementTimeoutMs: number; logger: Logger; now?: () => Date },
): Promise<EmbeddedServer> {
  const { statementTimeoutMs, logger, now = () => new Date() } = options;
  const today = now();
  const snapshot = await readSnapshot();
  return await createEmbeddedServer({
    dataDir: "memory",
    ...(snapshot === undefined ? {} : { snapshot }),
    prepare: async () => [...(snapshot === undefined ? await demoHandbookSql() : []), ...demoShopSql(today)],
    statementTimeoutMs,
    logger,
  });
}

/** The shop as a database named "shop", on `server`'s connections. */
export function demoDatabaseOptions(server: EmbeddedServer, statementTimeoutMs: number): DatabaseOptions {
  return {
    name: "shop",
    hosts: [],
    database: embeddedDatabaseName,
    user: demoRole,
    sslMode: "disable",
    targetSessionAttrs: "any",
    poolMaxConns: 4,
    poolMaxConnIdleTimeMs: 30 * 60_000,
    connectTimeoutMs: 10_000,
    statementTimeoutMs,
    maxRows: 1000,
    maxBytes: 1024 * 1024,
    allowedFunctions: [],
    roleFromUser: false,
    sessionSettings: {},
    openStream: server.openStream,
  };
}
