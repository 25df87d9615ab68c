import { AppError } from "../../core/app_error.ts";
import { type Principal, principalName } from "../../core/principal.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { pg } from "../connection.ts";
import { quoteIdentifier, quoteLiteral } from "../sql_text.ts";
import { timeoutSql } from "./statement_timeout.ts";

type TransactionOptions = Pick<DatabaseOptions, "statementTimeoutMs" | "roleFromUser" | "sessionSettings">;

/**
 * The statements that open a principal's read-only transaction, in one round trip. They hold for this transaction alone.
 * `planning` are settings of our own statements, such as an index's `hnsw.ef_search`.
 *
 * @throws {AppError} `invalid` for a text that PostgreSQL has no place for, `forbidden` for a name that is no role's
 */
export function beginReadOnly(
  options: TransactionOptions,
  principal: Principal,
  planning: Readonly<Record<string, string>> = {},
): string {
  const username = principalName(principal);
  const setLocal = ([name, value]: [string, string]) =>
    `SELECT pg_catalog.set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, true)`;
  const settings = Object.entries(options.sessionSettings).map(([name, value]) =>
    setLocal([name, value.replaceAll("{username}", () => username)])
  );
  return [
    "BEGIN READ ONLY",
    // to compile our own look at what a statement's names mean takes seconds where there are many tables
    "SET LOCAL jit = off",
    // what the guard has read is what the server reads: no backslash escapes in plain literals, and UTF-8
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL client_encoding = 'UTF8'",
    ...timeoutSql(options.statementTimeoutMs),
    ...settings,
    ...Object.entries(planning).map(setLocal),
    // the local caller has no name of its own
    ...(options.roleFromUser && principal.kind !== "local" ? [`SET LOCAL ROLE ${roleName(username)}`] : []),
  ].join("; ");
}

function roleName(username: string): string {
  // to PostgreSQL it means the login's own role, quoted or not
  if (username === "none") {
    throw new AppError("forbidden", 'Cannot take the role "none": PostgreSQL reserves the name');
  }
  return quoteIdentifier(username);
}

/**
 * Runs `run` in a read-only transaction and rolls back, whatever comes of it.
 *
 * @throws what `run` throws, or what PostgreSQL answers to `begin`
 */
export async function inReadOnlyTransaction<T>(
  client: pg.Client,
  begin: string,
  run: () => Promise<T>,
): Promise<T> {
  try {
    await client.query(begin);
    return await run();
  } finally {
    // a connection that cannot roll back is not in a state to be lent again, and its lease sees to that
    await client.query("ROLLBACK").catch(() => {});
  }
}
