import type { DatabaseOptions } from "../../src/postgres/database_options.ts";

/** Options for the database that a URL names, as a configuration with nothing else in it would have them. */
export function databaseOptions(url: string, changes: Partial<DatabaseOptions> = {}): DatabaseOptions {
  const { hostname, port, pathname, username, password } = new URL(url);
  return {
    name: "shop",
    hosts: [{ host: hostname, port: Number(port || "5432") }],
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
    ...(password !== "" && { password: decodeURIComponent(password) }),
    sslMode: "disable",
    targetSessionAttrs: "any",
    poolMaxConns: 4,
    poolMaxConnIdleTimeMs: 60_000,
    pooler: "none",
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 30_000,
    maxRows: 1_000,
    maxBytes: 1_048_576,
    allowedFunctions: [],
    roleFromUser: false,
    sessionSettings: {},
    ...changes,
  };
}
