import type { ColumnType } from "../search/column_type.ts";
import { sql, type SqlText } from "../../postgres/sql_text.ts";
import { binarySql, type Comparison, listOfValues, listSql, oneValue } from "./comparison.ts";

interface ArrayComparison extends Comparison {
  readonly element: ColumnType;
}

/**
 * A condition over a column of arrays: `=` a value asks whether the array has it, IN whether it has one of some, `=` a
 * list whether it is that list; `!=` and NOT IN ask the opposite. A GIN index on the column serves the first two.
 *
 * @throws {AppError} `invalid` for a value or an operator that does not fit
 */
export function arrayCondition(comparison: ArrayComparison): SqlText {
  const { column, element, operator, value, fail } = comparison;
  const list = (texts: readonly string[]) => listSql(texts, element.sqlType);
  switch (operator) {
    case "=":
    case "!=": {
      if (Array.isArray(value)) return binarySql(column, operator, list(listOfValues(comparison, element)));
      const has = sql`(${column} @> ${list([oneValue(comparison, element)])})`;
      return operator === "=" ? has : sql`(NOT ${has})`;
    }
    case "IN":
    case "NOT IN": {
      const hasOne = sql`(${column} && ${list(listOfValues(comparison, element))})`;
      return operator === "IN" ? hasOne : sql`(NOT ${hasOne})`;
    }
    default:
      throw fail("operator", `${operator} is not for columns of arrays`);
  }
}
