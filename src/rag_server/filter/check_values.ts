import { joinSql, quoteIdentifier, renderSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import type { Database } from "../../postgres/database.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import type { UncheckedCondition } from "./compile_filter.ts";
import type { SearchCaller } from "../search/search_caller.ts";
import { misfit } from "./value_fault.ts";

/**
 * Has PostgreSQL judge the values of conditions that it alone can judge, over a row of nothing: it reads each value as
 * its column's type and looks for the operator, and no table is touched.
 *
 * @throws {AppError} `invalid`, naming the condition; `unavailable` without a connection; the signal's reason
 */
export async function checkValues(
  database: Database,
  conditions: readonly UncheckedCondition[],
  caller: SearchCaller,
): Promise<void> {
  if (conditions.length === 0 || !await isRefused(database, conditions, caller)) return;
  for (const condition of conditions) {
    if (await isRefused(database, [condition], caller)) throw misfit(condition.place);
  }
}

async function isRefused(
  database: Database,
  conditions: readonly UncheckedCondition[],
  { signal, ...address }: SearchCaller,
): Promise<boolean> {
  const outcome = await database.read({
    principal: { kind: "local", ...address },
    trusted: true,
    signal,
    ...renderSql(checkSql(conditions)),
  });
  signal.throwIfAborted();
  return !outcome.ok && isRefusal(outcome.error);
}

function checkSql(conditions: readonly UncheckedCondition[]): SqlText {
  const columns = new Map(conditions.map(({ column, type }) => [column, type.sqlType]));
  const nothing = Array.from(
    columns,
    ([column, type]) => verbatim(`NULL::${type} AS ${quoteIdentifier(column)}`),
  );
  return sql`SELECT ${joinSql(conditions.map(({ condition }) => condition), ", ")}
    FROM (SELECT ${joinSql(nothing, ", ")}) source`;
}

/**
 * Whether a failure is one of the values or operators: data and its bounds, names that a value stands for, what does not
 * exist, what an extension's type calls an internal error. Others, such as a time that ran out, are for the search itself to meet.
 */
function isRefusal({ kind, sqlState = "" }: StatementError): boolean {
  return kind === "failed" && /^(22|23|42|54|0A|3F|XX)/.test(sqlState) && sqlState !== "42501";
}
