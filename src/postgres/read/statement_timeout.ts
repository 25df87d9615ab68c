// The timeout of a database, its `statement_timeout` (config/schema/databases.ts; of a pipeline: app/rag/open_pipelines.ts),
// or of a statement of our own. It holds in three places: PostgreSQL stops what runs longer (timeoutSql()); no further part
// of an answer is fetched after it (readBoundedAnswer()); and where the server does not keep to it, the connection is given
// up (stop_statement.ts).

/** Waiting for a lock is waiting for a writer; a reader need not wait as long as it may run. */
const maxLockTimeoutMs = 5_000;

/** How much longer than the timeout the server waits for the next message of a transaction. */
const idleGraceMs = 10_000;

/** What sets the timeout in the server, for one transaction. */
export function timeoutSql(timeoutMs: number): string[] {
  const ms = Math.round(timeoutMs);
  return [
    `SET LOCAL statement_timeout = ${ms}`,
    `SET LOCAL lock_timeout = ${Math.min(ms, maxLockTimeoutMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${ms + idleGraceMs}`,
  ];
}
