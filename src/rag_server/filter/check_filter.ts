import { AppError } from "../../core/app_error.ts";
import { readerFor } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import type { StatementNames } from "../../postgres/guard/statement_names.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import {
  joinSql,
  nameOf,
  quoteIdentifier,
  renderSql,
  sql,
  type SqlText,
  verbatim,
} from "../../postgres/sql_text.ts";
import type { Filter, PipelineQuery } from "../query.ts";
import type { DocumentTable } from "../search/document_table.ts";
import { compileFilter, type UncheckedCondition } from "./compile_filter.ts";

/** For whom the database is asked. */
export type SearchCaller = Pick<PipelineQuery, "caller" | "signal">;

type FilteredTable = Pick<DocumentTable, "relation" | "requestColumns">;

/**
 * Refuses a filter that does not fit all tables. The database is asked about types and values that it alone can judge,
 * and about nothing else.
 *
 * @throws {AppError} `invalid`, naming the condition; `unavailable` without a connection; the signal's reason
 */
export async function checkFilter(
  database: Database,
  tables: readonly FilteredTable[],
  filter: Filter,
  caller: SearchCaller,
): Promise<void> {
  const compiled = tables.map(({ requestColumns }) => compileFilter(filter, requestColumns));
  // before any value is read as its column's type
  for (const table of tables) await checkColumns(database, table, filter, caller);
  await Promise.all(compiled.map(({ unchecked }) => checkValues(database, unchecked, caller)));
}

/**
 * Whether a failed search may be the fault of a value that only PostgreSQL could judge. Class 22 is about data; 42601 is
 * bad syntax, which of our own SQL only a value such as one of tsvector can have; XX000 is what types of extensions
 * report; the others are operators and casts that do not exist.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isFaultOfValue({ sqlState = "" }: StatementError): boolean {
  return /^(22|XX000|42601|42883|42804|42846|42725)/.test(sqlState);
}

/** @param place the condition's, or the whole filter's where there are several that it may be */
export function valueFault(place: string): AppError {
  return new AppError("invalid", `${place}: the operator or the value does not fit the column's type`);
}

/**
 * Refuses conditions on columns whose types run a VOLATILE function when they are compared, which a READ ONLY transaction
 * may not stop: a domain inside of an array, an operator or an operator class of someone's own. Types for which PostgreSQL
 * has exact operators are not asked about.
 */
async function checkColumns(
  database: Database,
  table: FilteredTable,
  filter: Filter,
  { signal, caller }: SearchCaller,
): Promise<void> {
  for (const [index, { column, operator }] of filter.conditions.entries()) {
    const type = table.requestColumns.get(column);
    if (type === undefined || builtIn.test(type.sqlType) || operator.endsWith("NULL")) continue;
    const result = await database.read({
      principal: readerFor(caller),
      trusted: true,
      names: namesOf(table.relation, column),
      sql: "SELECT",
      signal,
    });
    signal.throwIfAborted();
    if (result.ok || result.error.kind !== "refused") continue;
    throw new AppError("invalid", `filter.conditions[${index}].column: ${result.error.message}`);
  }
}

/** Types as `format_type()` writes them, without a schema; those of arrays share their operators with others. */
const builtIn =
  /^(text|character( varying)?|name|smallint|integer|bigint|numeric|real|double precision|boolean|date|time(stamp)? with(out)? time zone|interval|uuid|inet|cidr|jsonb?|bytea|tsvector)$/;

const comparing = ["=", "<>", "<", ">", "<=", ">=", "@>", "&&"];

/** @param relation qualified, quoted where it has to be */
function namesOf(relation: string, column: string): StatementNames {
  const [schema = "", name = ""] = relation.match(/"(?:[^"]|"")*"|[^".]+/g)?.map(nameOf) ?? [];
  return [
    { kind: "columns_of", schema, name },
    { kind: "column", name: column },
    ...comparing.map((operator) => ({ kind: "operator" as const, name: operator })),
  ];
}

/**
 * Has PostgreSQL judge the values of conditions that it alone can judge, over a row of nothing: it reads each value as
 * its column's type and looks for the operator, and no table is touched. It is asked once where all values fit.
 */
async function checkValues(
  database: Database,
  conditions: readonly UncheckedCondition[],
  caller: SearchCaller,
): Promise<void> {
  if (conditions.length === 0 || !await isRefused(database, conditions, caller)) return;
  for (const condition of conditions) {
    if (await isRefused(database, [condition], caller)) throw valueFault(condition.place);
  }
}

async function isRefused(
  database: Database,
  conditions: readonly UncheckedCondition[],
  { signal, caller }: SearchCaller,
): Promise<boolean> {
  const result = await database.read({
    principal: readerFor(caller),
    trusted: true,
    signal,
    ...renderSql(overNothing(conditions)),
  });
  signal.throwIfAborted();
  if (result.ok || result.error.kind !== "failed") return false;
  // data and its bounds, names that a value stands for, what does not exist, what an extension's type calls an internal
  // error; others, such as a right that is missing, are for the search itself to meet
  const { sqlState = "" } = result.error;
  return /^(22|23|42|54|0A|3F|XX)/.test(sqlState) && sqlState !== "42501";
}

function overNothing(conditions: readonly UncheckedCondition[]): SqlText {
  const columns = new Map(conditions.map(({ column, type }) => [column, type.sqlType]));
  const nothing = Array.from(
    columns,
    ([column, type]) => verbatim(`NULL::${type} AS ${quoteIdentifier(column)}`),
  );
  return sql`SELECT ${joinSql(conditions.map(({ condition }) => condition), ", ")}
    FROM (SELECT ${joinSql(nothing, ", ")}) source`;
}
