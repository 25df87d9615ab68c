import { AppError } from "../core/app_error.ts";
import type { CallerOptions } from "../postgres/read/caller_settings.ts";
import { defined } from "../core/defined.ts";
import {
  type Config,
  type DatabaseConfig,
  type PipelineConfig,
  processEnvironment,
  type RowSecurity,
} from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createDatabase, type Database } from "../postgres/database.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import { createStatementGuard } from "../postgres/guard/statement_guard.ts";
import { createConnectionPools } from "../postgres/pool/connection_pools.ts";

export interface OpenDatabase {
  readonly options: DatabaseOptions;
  readonly availableToUsers: readonly string[];
}

/** The databases that a server serves; disposing of them stops the embedded ones among them. */
export interface OpenDatabases extends AsyncDisposable {
  readonly list: readonly OpenDatabase[];
  /** The one that pipelines read in place of their own. Optional: none but in the demo. */
  readonly ofPipelines?: ((pipeline: Pick<PipelineConfig, "name">) => DatabaseOptions) | undefined;
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
 * The databases of a configuration that has changed. Those without a change keep their options, the same object;
 * embedded ones stay as they were at the start.
 */
export function changedDatabases(
  config: Config,
  before: readonly OpenDatabase[],
  logger: Logger,
): readonly OpenDatabase[] {
  return config.databases.flatMap((database) => {
    const availableToUsers = database.available_to_users;
    const old = before.find(({ options }) => options.name === database.name)?.options;
    const wasEmbedded = old?.openStream !== undefined;
    const isEmbedded = database.embedded !== undefined;
    if (wasEmbedded !== isEmbedded) {
      const message = "Restart the server to open or close an embedded database";
      logger.warn(message, { database: database.name });
    }
    if (wasEmbedded || isEmbedded) return old === undefined ? [] : [{ options: old, availableToUsers }];
    const options = databaseOptions(database, config.pass_file);
    const isSame = JSON.stringify(options) === JSON.stringify(old);
    return [{ options: isSame && old !== undefined ? old : options, availableToUsers }];
  });
}

/**
 * The demo's shop alone.
 *
 * @param handbook SQL that makes the handbook. Optional: the usual one
 * @throws {AppError} `unavailable` where it does not start
 */
export async function openDemoDatabase(logger: Logger, handbook?: readonly string[]): Promise<OpenDatabases> {
  const { createDemoDatabase, demoDatabaseOptions } = await import("../demo/demo_database.ts");
  const statementTimeoutMs = 30_000;
  const server = await createDemoDatabase({ statementTimeoutMs, logger, ...defined({ handbook }) });
  const options = demoDatabaseOptions(server, statementTimeoutMs);
  return {
    list: [{ options, availableToUsers: [] }],
    ofPipelines: ({ name }) => ({ ...options, name }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

async function openEmbedded(
  database: DatabaseConfig,
  dataDir: string,
  stack: AsyncDisposableStack,
  logger: Logger,
): Promise<Pick<DatabaseOptions, "openStream" | "database">> {
  const { createEmbeddedServer, embeddedDatabaseName } = await import(
    "../postgres/embedded/embedded_server.ts"
  );
  const server = await createEmbeddedServer({
    dataDir,
    statementTimeoutMs: database.statement_timeout,
    logger,
  });
  stack.defer(() => server.close());
  return { openStream: server.openStream, database: embeddedDatabaseName };
}

/** What tells row-level security who asks, of a database or a pipeline. */
export function rowSecurityOf(
  { role_from_user, role_from_claim, role_is_optional, allowed_roles, session_settings }: RowSecurity,
): Omit<CallerOptions, "name"> {
  return {
    roleFromUser: role_from_user,
    ...defined({
      roleFromClaim: role_from_claim,
      isRoleOptional: role_is_optional,
      allowedRoles: allowed_roles,
    }),
    sessionSettings: session_settings,
  };
}

/** What the adapter needs to know of a configured database. */
export function databaseOptions(
  database: Omit<DatabaseConfig, "available_to_users" | "embedded"> & RowSecurity,
  passFile: string | undefined,
): DatabaseOptions {
  const { password, password_file: passwordFile, sslrootcert, sslcert, sslkey } = database;
  return {
    name: database.name,
    hosts: database.hosts,
    database: database.database,
    user: database.user,
    ...defined({ password, passwordIssuer: passwordIssuer(database), passwordFile, passFile }),
    sslMode: database.sslmode,
    ...defined({ sslRootCertFile: sslrootcert, sslCertFile: sslcert, sslKeyFile: sslkey }),
    targetSessionAttrs: database.target_session_attrs,
    ...defined({ maxReplicaLagMs: database.max_replica_lag }),
    poolMaxConns: database.pool_max_conns,
    poolMaxConnIdleTimeMs: database.pool_max_conn_idle_time,
    pooler: database.pooler,
    connectTimeoutMs: database.connect_timeout,
    statementTimeoutMs: database.statement_timeout,
    maxRows: database.max_rows,
    maxBytes: database.max_bytes,
    allowedFunctions: database.allowed_functions,
    ...rowSecurityOf(database),
  };
}

/** @throws {AppError} `invalid` where a token could go over a network as it is */
function passwordIssuer(database: Parameters<typeof databaseOptions>[0]): DatabaseOptions["passwordIssuer"] {
  const { password_command: command, password_lifetime, password_from: by, aws_region: region } = database;
  if (command === undefined && by === undefined) return undefined;
  // a program gets none of Postern's own secrets
  const env: Record<string, string> = {};
  for (const [name, value = ""] of Object.entries(processEnvironment().env)) {
    if (!/^(?:POSTERN_|PG|OTEL_)|_API_KEY$/.test(name)) env[name] = value;
  }
  if (command !== undefined) {
    return { by: "password_command", command, lifetimeMs: password_lifetime ?? 300_000, env };
  }
  if (by !== undefined && region !== undefined && /^(?:require|verify-)/.test(database.sslmode)) {
    return { by, region, env };
  }
  const expected = "expected require, verify-ca or verify-full with password_from";
  throw new AppError("invalid", `Cannot use database "${database.name}": sslmode: ${expected}`);
}

/**
 * The tool server's databases for an administrator's operation, without a server.
 * @throws {AppError} as `openConfiguredDatabases`
 */
export async function openToolDatabases(
  config: Config,
  logger: Logger,
): Promise<AsyncDisposable & { readonly list: readonly { database: Database; options: DatabaseOptions }[] }> {
  await using opening = new AsyncDisposableStack();
  const databases = opening.use(await openConfiguredDatabases(config, logger));
  const pools = opening.use(
    // an operator would rather hear soon that a running server has all the connections of its role
    createConnectionPools({ maxConnections: config.max_connections, shortageWaitMs: 3_000, logger }),
  );
  const guard = await createStatementGuard();
  const list = databases.list.map(({ options }) => ({
    options,
    database: createDatabase({ options, pools, guard, logger }),
  }));
  const stack = opening.move();
  return { list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
