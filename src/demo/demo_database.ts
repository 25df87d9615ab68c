import { defined } from "../core/defined.ts";
import { openPackedFiles } from "../core/files/packed_files.ts";
import { ignoreMissing } from "../core/files/replace_file.ts";
import type { Logger } from "../core/logger.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import {
  createEmbeddedServer,
  embeddedDatabaseName,
  type EmbeddedServer,
} from "../postgres/embedded/embedded_server.ts";
import { demoHandbookSql } from "./demo_handbook.ts";
import { demoRole, demoShopSql } from "./demo_shop.ts";

/** Where `tools/build_demo_snapshot.ts` writes a database with the handbook, which `tools/compile_program.ts` packs. */
export const snapshotFile = new URL("../../dist/demo_snapshot.tar.gz", import.meta.url);

/**
 * Starts a server in memory that holds the shop and its handbook.
 *
 * @param options.handbook as `demoHandbookSql()` gives it. Optional: with hashed embeddings
 * @throws AppError `unavailable` where the database doesn't start
 */
export async function createDemoDatabase(
  options: { statementTimeoutMs: number; logger: Logger; handbook?: readonly string[]; now?: () => Date },
) {
  const { statementTimeoutMs, logger, handbook, now = () => new Date() } = options;
  const today = now();
  const snapshot = await readSnapshot();
  return await createEmbeddedServer({
    dataDir: "memory",
    ...defined({ snapshot }),
    prepare: async () => [
      ...(handbook ?? (snapshot === undefined ? await demoHandbookSql() : [])),
      ...await demoShopSql(today),
    ],
    statementTimeoutMs,
    logger,
  });
}

/** The shop as a database named "shop", on `server`'s connections. */
export function demoDatabaseOptions(
  server: Pick<EmbeddedServer, "openStream">,
  statementTimeoutMs: number,
): DatabaseOptions {
  return {
    name: "shop",
    hosts: [],
    database: embeddedDatabaseName,
    user: demoRole,
    sslMode: "disable",
    targetSessionAttrs: "any",
    poolMaxConns: 4,
    poolMaxConnIdleTimeMs: 30 * 60_000,
    pooler: "none",
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

/** The file's bytes; undefined where it was not built. To start without it takes two seconds longer. */
async function readSnapshot(): Promise<Uint8Array | undefined> {
  using packed = await openPackedFiles();
  if (packed !== undefined) return await packed.read("demo_snapshot.tar.gz");
  return await Deno.readFile(snapshotFile).catch(ignoreMissing);
}
