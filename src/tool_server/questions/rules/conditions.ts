import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { identifierWords } from "../../../text/word_stem.ts";
import { columnKind } from "./column_kind.ts";
import { escapePattern, quoteIfNeeded, quoteLiteral } from "../../../postgres/sql_text.ts";
import type { Operator } from "./vocabulary.ts";

/** A value as the request gave it; one that was quoted is meant letter by letter. */
export interface Value {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** `money` takes no part in arithmetic or comparisons with numbers. */
export function numberSql(column: CatalogColumn): string {
  const name = quoteIfNeeded(column.name);
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
  const name = quoteIfNeeded(column.name);
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
  const name = quoteIfNeeded(column.name);
  const test = `lower(${name}) ${isNegated ? "<>" : "="} lower(${quoteLiteral(value.text)})`;
  return isNegated && column.nullable ? `(${test} OR ${name} IS NULL)` : test;
}

/** Whether a name holds some words as a whole: "Anna" is in "Anna Berg" and not in "Joanna". */
export function isNamed(column: CatalogColumn, { text }: Value): string {
  const literal = text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
  const start = /^[\p{L}\p{N}_]/u.test(text) ? "[[:<:]]" : "";
  const end = /[\p{L}\p{N}_]$/u.test(text) ? "[[:>:]]" : "";
  return `${quoteIfNeeded(column.name)} ~* ${quoteLiteral(start + literal + end)}`;
}

export function textMatches(
  column: CatalogColumn,
  value: Value,
  toPattern: (literal: string) => string,
): string {
  return `${quoteIfNeeded(column.name)} ILIKE ${quoteLiteral(toPattern(escapePattern(value.text)))}`;
}

export function hasMember(column: CatalogColumn, value: Value): string {
  return `${quoteLiteral(value.text)} = ANY (${quoteIfNeeded(column.name)})`;
}

export function isFlagged(column: CatalogColumn, isNegated: boolean): string {
  const name = quoteIfNeeded(column.name);
  if (!isNegated) return name;
  return column.nullable ? `${name} IS NOT TRUE` : `NOT ${name}`;
}

/** Whether a date or the like is there at all. */
export function isKnown(column: CatalogColumn, isNegated: boolean): string {
  return `${quoteIfNeeded(column.name)} IS ${isNegated ? "" : "NOT "}NULL`;
}

const amounts = new Set(
  "stock quantity qty inventory balance discount amount units fee fees tax tip votes points".split(" "),
);

/** Whether 0 of it is none: a temperature of 0 is one. */
function isAmount({ name }: CatalogColumn): boolean {
  return identifierWords(name).some((word) => amounts.has(word));
}

/** What "without" says of a column; undefined where it has more than one kind of nothing, as JSON does. */
export function isMissing(column: CatalogColumn): string | undefined {
  const name = quoteIfNeeded(column.name);
  const isReference = column.isPrimaryKey || column.reference !== "";
  const orNull = column.nullable ? ` OR ${name} IS NULL` : "";
  const orEmpty = (test: string) => orNull === "" ? test : `(${test}${orNull})`;
  switch (columnKind(column)) {
    case "flag":
      return isFlagged(column, true);
    case "number":
      return isReference || !isAmount(column) ? `${name} IS NULL` : orEmpty(`${numberSql(column)} = 0`);
    case "text":
      return isReference ? `${name} IS NULL` : orEmpty(`${name} = ''`);
    case "list":
      return orEmpty(`cardinality(${name}) = 0`);
    case "other":
      return undefined;
    default:
      return `${name} IS NULL`;
  }
}
