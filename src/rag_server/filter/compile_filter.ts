import { AppError } from "../../core/app_error.ts";
import type { ColumnType } from "../search/column_type.ts";
import type { Condition, Filter } from "../query.ts";
import { joinSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { arrayCondition } from "./array_condition.ts";
import { findColumn } from "./find_column.ts";
import { jsonPathCondition, jsonValueCondition } from "./json_condition.ts";
import { scalarCondition } from "./scalar_condition.ts";

/** A condition over a type that only PostgreSQL can judge a value of. */
export interface UncheckedCondition {
  /** What errors call it. */
  readonly place: string;
  /** Of the column, not quoted. */
  readonly column: string;
  readonly type: ColumnType;
  readonly condition: SqlText;
}

export interface CompiledFilter {
  /** In parentheses; refers to columns by their bare names. */
  readonly condition: SqlText;
  /** A failing statement may be their fault. */
  readonly unchecked: readonly UncheckedCondition[];
}

/**
 * A filter as SQL whose values are all parameters, with SQL's own meaning of NULL: a row whose column is NULL meets no
 * condition but IS NULL, not even `!=` and NOT IN (but NOT IN of an empty list, which every row meets). Comparisons are
 * of the column's type. Of an array, `=` a single value and IN mean that it has it, or one of them; `=` a list that it
 * is that list. What a path finds in JSON is compared as the value's own kind: as a number, a boolean or text.
 *
 * @param path what errors call the filter
 * @throws {AppError} `invalid` with the place of what does not fit: `filter.conditions[2].value: expected …`
 */
export function compileFilter(
  filter: Filter,
  columns: ReadonlyMap<string, ColumnType>,
  path = "filter",
): CompiledFilter {
  const unchecked: UncheckedCondition[] = [];
  const conditions = filter.conditions.map((condition, index) => {
    const place = `${path}.conditions[${index}]`;
    const compiled = compileCondition(condition, columns, place);
    if (compiled.uncheckedType !== undefined) {
      const { column } = condition;
      unchecked.push({ place, column, type: compiled.uncheckedType, condition: compiled.sql });
    }
    return compiled.sql;
  });
  // as of nothing in general: AND of no conditions holds, OR of none does not
  if (conditions.length === 0) {
    return { condition: filter.logic === "AND" ? sql`(true)` : sql`(false)`, unchecked };
  }
  return { condition: sql`(${joinSql(conditions, ` ${filter.logic} `)})`, unchecked };
}

function compileCondition(
  condition: Condition,
  columns: ReadonlyMap<string, ColumnType>,
  place: string,
): { readonly sql: SqlText; readonly uncheckedType?: ColumnType } {
  const found = findColumn(condition.column, columns);
  if (found === undefined) {
    throw new AppError("invalid", `${place}.column: there is no column "${condition.column}"`);
  }
  const { column, type, keys } = found;
  const { operator, value } = condition;
  const fail = (field: "operator" | "value", reason: string) =>
    new AppError("invalid", `${place}.${field}: ${reason}`);
  if (keys.length > 0) {
    return { sql: jsonPathCondition({ column, type, operator, value, fail, keys }) };
  }
  if (operator === "IS NULL" || operator === "IS NOT NULL") {
    return { sql: sql`(${column} ${verbatim(operator)})` };
  }
  const compare = { column, type, operator, value, fail };
  if (type.kind === "json") return { sql: jsonValueCondition(compare) };
  const { element } = type;
  const compiled = element === undefined ? scalarCondition(compare) : arrayCondition({ ...compare, element });
  return { sql: compiled, ...((element ?? type).kind === "other" && { uncheckedType: type }) };
}
