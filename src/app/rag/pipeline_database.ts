import type { PipelineConfig } from "../../config/mod.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";

/** Queries at the same time have their searches wait for each other beyond this; a search takes milliseconds. */
const poolMaxConns = 10;

/** What the adapter needs to know of a pipeline's database. */
export function pipelineDatabaseOptions(
  { name, database }: Pick<PipelineConfig, "name" | "database">,
  passFile: string | undefined,
): DatabaseOptions {
  const { password, password_file: passwordFile, sslrootcert: root, sslcert: cert, sslkey: key } = database;
  return {
    name,
    hosts: database.hosts,
    database: database.database,
    user: database.user ?? "postgres",
    ...(password === undefined ? {} : { password }),
    ...(passwordFile === undefined ? {} : { passwordFile }),
    ...(passFile === undefined ? {} : { passFile }),
    sslMode: database.sslmode ?? "prefer",
    ...(root === undefined ? {} : { sslRootCertFile: root }),
    ...(cert === undefined ? {} : { sslCertFile: cert }),
    ...(key === undefined ? {} : { sslKeyFile: key }),
    targetSessionAttrs: database.target_session_attrs ?? "any",
    poolMaxConns,
    poolMaxConnIdleTimeMs: 30 * 60_000,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 30_000,
    maxRows: 1_000,
    maxBytes: 1_048_576,
    allowedFunctions: [],
    roleFromUser: false,
    sessionSettings: {},
  };
}
