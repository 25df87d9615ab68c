import type { AppError } from "../../core/app_error.ts";
import type { ColumnType } from "../search/column_type.ts";
import type { Operator } from "./filter_kinds.ts";
import { arrayText, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { expectation, literalOf } from "./literal.ts";

/** A condition whose column has been found, and that compares it with something. */
export interface Comparison {
  /** As SQL. */
  readonly column: SqlText;
  readonly type: ColumnType;
  readonly operator: Exclude<Operator, "IS NULL" | "IS NOT NULL">;
  readonly value: unknown;
  /** The error that names a field of the condition. */
  readonly fail: (field: "operator" | "value", reason: string) => AppError;
}

type Given = Pick<Comparison, "value" | "fail">;
type BinaryOperator = Exclude<Comparison["operator"], "IN" | "NOT IN">;

/** `left operator right`, in parentheses. */
export function binarySql(left: SqlText, operator: BinaryOperator, right: SqlText): SqlText {
  return sql`(${left} ${verbatim(operator === "!=" ? "<>" : operator)} ${right})`;
}

/** A value as a parameter of a type. */
export function parameterSql(text: string, sqlType: string): SqlText {
  return sql`${text}::${verbatim(sqlType)}`;
}

/** Several values as one parameter. */
export function listSql(texts: readonly string[], elementSqlType: string): SqlText {
  return parameterSql(arrayText(texts), `${elementSqlType}[]`);
}

/**
 * The one value of a condition, as PostgreSQL reads it.
 *
 * @throws {AppError} `invalid`
 */
export function oneValue({ value, fail }: Given, type: ColumnType): string {
  if (Array.isArray(value)) throw fail("value", "expected one value, not a list");
  const text = literalOf(value, type);
  if (text === undefined) throw fail("value", `expected ${expectation(type)}`);
  return text;
}

/**
 * The values of a condition's list, as PostgreSQL reads them.
 *
 * @throws {AppError} `invalid`
 */
export function listOfValues({ value, fail }: Given, type: ColumnType): string[] {
  if (!Array.isArray(value)) throw fail("value", "expected a list");
  return value.map((item: unknown, index) => {
    const text = literalOf(item, type);
    if (text === undefined) throw fail("value", `item ${index}: expected ${expectation(type)}`);
    return text;
  });
}

/**
 * A pattern of LIKE.
 *
 * @throws {AppError} `invalid`
 */
export function pattern(comparison: Given): string {
  const text = oneValue(comparison, { kind: "text", sqlType: "text" });
  const escapes = /\\*$/.exec(text)?.[0].length ?? 0;
  if (escapes % 2 === 1) {
    throw comparison.fail("value", "a pattern cannot end with a backslash that escapes nothing");
  }
  return text;
}
