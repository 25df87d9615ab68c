import { sql, type SqlText } from "../../postgres/sql_text.ts";
import {
  binarySql,
  type Comparison,
  listOfValues,
  listSql,
  oneValue,
  parameterSql,
  pattern,
} from "./comparison.ts";

/**
 * A condition over a column that holds one value.
 *
 * @throws {AppError} `invalid` for a value or an operator that does not fit
 */
export function scalarCondition(comparison: Comparison): SqlText {
  const { column, type, operator, fail } = comparison;
  switch (operator) {
    case "IN":
      return sql`(${column} = ANY (${listSql(listOfValues(comparison, type), type.sqlType)}))`;
    case "NOT IN":
      return sql`(${column} <> ALL (${listSql(listOfValues(comparison, type), type.sqlType)}))`;
    case "LIKE":
    case "ILIKE":
      if (type.kind !== "text") throw fail("operator", `${operator} is for columns of text`);
      return binarySql(column, operator, parameterSql(pattern(comparison), "text"));
    default:
      return binarySql(column, operator, parameterSql(oneValue(comparison, type), type.sqlType));
  }
}
