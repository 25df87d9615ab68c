import type { DatabaseConfig } from "../config/mod.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";

/** What the adapter needs to know of a configured database. */
export function databaseOptions(database: DatabaseConfig, passFile: string | undefined): DatabaseOptions {
  return {
    name: database.name,
    hosts: database.hosts,
    database: database.database,
    user: database.user,
    ...given("password", database.password),
    ...given("passwordFile", database.password_file),
    ...given("passFile", passFile),
    sslMode: database.sslmode,
    ...given("sslRootCertFile", database.sslrootcert),
    ...given("sslCertFile", database.sslcert),
    ...given("sslKeyFile", database.sslkey),
    targetSessionAttrs: database.target_session_attrs,
    poolMaxConns: database.pool_max_conns,
    poolMaxConnIdleTimeMs: database.pool_max_conn_idle_time,
    connectTimeoutMs: database.connect_timeout,
    statementTimeoutMs: database.statement_timeout,
    maxRows: database.max_rows,
    maxBytes: database.max_bytes,
    allowedFunctions: database.allowed_functions,
    roleFromUser: database.role_from_user,
    sessionSettings: database.session_settings,
  };
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [name in Name]?: Value } {
  return value === undefined ? {} : { [name]: value } as { [name in Name]: Value };
}
