import type { CatalogColumn } from "../../core/catalog.ts";
import { escapePattern, quoteIdentifier, quoteLiteral } from "./quote_sql.ts";
import type { Operator } from "./vocabulary.ts";

/** A value as the request gave it; one that was quoted is meant letter by letter. */
export interface Value {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** `money` takes no part in arithmetic or comparisons with numbers. */
export function numberSql(column: CatalogColumn): string {
  const name = quoteIdentifier(column.name);
  return column.type === "money" ? `${name}::numeric` : name;
}

export function compareNumber(column: CatalogColumn, operator: Operator | "<>", number: string): string {
  return `${numberSql(column)} ${operator} ${number}`;
}

export function betweenNumbers(column: CatalogColumn, low: string, high: string): string {
  return `${numberSql(column)} BETWEEN ${low} AND ${high}`;
}

/** Equality with one of some literals; what is not equal includes rows without a value. */
export function oneOf(column: CatalogColumn, values: readonly string[], isNegated: boolean): string {
  const name = quoteIdentifier(column.name);
  const literals = values.map(quoteLiteral);
  const orNull = isNegated && column.nullable ? ` OR ${name} IS NULL` : "";
  const test = literals.length === 1
    ? `${name} ${isNegated ? "<>" : "="} ${literals[0]}`
    : `${name} ${isNegated ? "NOT IN" : "IN"} (${literals.join(", ")})`;
  return orNull === "" ? test : `(${test}${orNull})`;
}

/** Equality with a word; unless it was quoted, upper and lower case are the same. */
export function textEquals(column: CatalogColumn, value: Value, isNegated: boolean): string {
  if (value.isQuoted) return oneOf(column, [value.text], isNegated);
  const name = quoteIdentifier(column.name);
  const test = `lower(${name}) ${isNegated ? "<>" : "="} lower(${quoteLiteral(value.text)})`;
  return isNegated && column.nullable ? `(${test} OR ${name} IS NULL)` : test;
}

export function textMatches(
  column: CatalogColumn,
  value: Value,
  toPattern: (literal: string) => string,
): string {
  return `${quoteIdentifier(column.name)} ILIKE ${quoteLiteral(toPattern(escapePattern(value.text)))}`;
}

export function hasMember(column: CatalogColumn, value: Value): string {
  return `${quoteLiteral(value.text)} = ANY (${quoteIdentifier(column.name)})`;
}

export function isFlagged(column: CatalogColumn, isNegated: boolean): string {
  const name = quoteIdentifier(column.name);
  if (!isNegated) return name;
  return column.nullable ? `${name} IS NOT TRUE` : `NOT ${name}`;
}

export function isMissing(column: CatalogColumn): string {
  return `${quoteIdentifier(column.name)} IS NULL`;
}
