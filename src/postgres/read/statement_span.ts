import type { Span, SpanAttributes } from "../../core/tracing.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { StatementError } from "./statement_error.ts";

/** What all spans of a database's statements say. Source: Semantic Conventions for PostgreSQL client calls. */
export function databaseAttributes(
  { name, database, hosts, openStream }: Pick<DatabaseOptions, "name" | "database" | "hosts" | "openStream">,
): SpanAttributes {
  // of several hosts it is not known here which one answers
  const [only] = hosts.length === 1 && openStream === undefined ? hosts : [];
  return {
    "db.system.name": "postgresql",
    "db.namespace": database,
    "postern.database": name,
    ...(only && { "server.address": only.host, "server.port": only.port }),
  };
}

/** Begins the span of a statement that has its connection. @param operation its kind, as in `SELECT` */
export function beginStatement(
  parent: Span | undefined,
  { sql, trusted }: { readonly sql: string; readonly trusted?: boolean },
  operation: string,
  ofDatabase: SpanAttributes,
): Span | undefined {
  const span = parent?.begin(`${operation} ${ofDatabase["db.namespace"]}`, "client", {
    ...ofDatabase,
    "db.operation.name": operation,
    "postern.statement.origin": trusted ? "own" : "caller",
  });
  span?.setText("db.query.text", () => sql);
  return span;
}

/** Ends it with the SQLSTATE where PostgreSQL gave one, else with the kind of its error. */
export function endStatement(
  span: Span | undefined,
  result: { readonly ok: true; readonly rows: readonly unknown[] } | {
    readonly ok: false;
    readonly error: StatementError;
  },
): void {
  if (span === undefined) return;
  if (result.ok) {
    span.set({ "db.response.returned_rows": result.rows.length });
    return span.end();
  }
  const { sqlState, kind } = result.error;
  span.set({ "db.response.status_code": sqlState });
  span.end(sqlState ?? kind);
}

/**
 * The statement with the name of its span in a comment at its end, which `pg_stat_activity` and the server's log show
 * (SQLCommenter's form). On a line of its own, since the statement may end in a comment.
 */
export function withTraceComment(sql: string, { traceparent }: Span): string {
  return `${sql}\n/*traceparent='${traceparent}'*/`;
}
