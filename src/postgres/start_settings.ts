import type { DatabaseOptions } from "./database_options.ts";
import { guardedSettings } from "./session_setting_kinds.ts";

/**
 * PostgreSQL's settings that every statement of a database runs under, by name. Callers may not change them: `SET` and
 * `set_config` are refused. A connection begins with them (connection.ts). Behind a pooler, where the next transaction may
 * run on another connection, they travel with each transaction (read/read_only_transaction.ts).
 */
export function sessionSettings(
  { statementTimeoutMs }: { readonly statementTimeoutMs: number },
): Readonly<Record<string, string>> {
  return {
    // to compile our own look at what a statement's names mean takes seconds where there are many tables
    jit: "off",
    ...guardedSettings,
    ...timeoutSettings(statementTimeoutMs),
  };
}

/**
 * The settings that a session of a database begins with; undefined where a pooler may put it on another connection at any
 * time, and for the embedded server, whose clients take turns on the one that it has.
 */
export function startSettings(
  options: Pick<DatabaseOptions, "statementTimeoutMs" | "pooler" | "openStream">,
): Readonly<Record<string, string>> | undefined {
  const isShared = options.pooler === "transaction" || options.openStream !== undefined;
  return isShared ? undefined : sessionSettings(options);
}

// The timeout of a database, its `statement_timeout` (config/schema/databases.ts; of a pipeline: app/rag/open_pipelines.ts),
// or of a statement of our own. It holds in three places: PostgreSQL stops what runs longer (the settings below, which
// start_settings.ts brings into force); no further part of an answer is fetched after it (readBoundedAnswer()); and where
// the server does not keep to it, the connection is given up (stop_statement.ts).

/** Waiting for a lock is waiting for a writer; a reader need not wait as long as it may run. */
const maxLockTimeoutMs = 5_000;

/** How much longer than the timeout the server waits for the next message of a transaction. */
const idleGraceMs = 10_000;

/** PostgreSQL's settings that bound a statement which may run so long, by name. */
export function timeoutSettings(timeoutMs: number): Readonly<Record<string, string>> {
  const ms = Math.round(timeoutMs);
  return {
    statement_timeout: String(ms),
    lock_timeout: String(Math.min(ms, maxLockTimeoutMs)),
    idle_in_transaction_session_timeout: String(ms + idleGraceMs),
  };
}
