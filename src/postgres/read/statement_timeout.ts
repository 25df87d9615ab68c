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
