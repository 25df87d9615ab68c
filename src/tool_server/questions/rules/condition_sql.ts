import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { escapePattern, quoteIfNeeded, quoteLiteral } from "../../../postgres/sql_text.ts";
import { columnKind, hasWord } from "./columns.ts";
import { wordSet } from "./request_tokens.ts";

/** A value as the request gave it; one that was quoted is meant letter by letter. */
export interface Value {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** A column as SQL. */
export const columnSql = ({ name }: CatalogColumn): string => quoteIfNeeded(name);

/** `money` takes no part in arithmetic or comparisons with numbers. */
export function numberSql(column: CatalogColumn): string {
  return column.type === "money" ? `${columnSql(column)}::numeric` : columnSql(column);
}

function orNull(test: string, column: CatalogColumn): string {
  return column.nullable ? `(${test} OR ${columnSql(column)} IS NULL)` : test;
}

/** Equality with one of some literals; what is not equal includes rows without a value. */
export function oneOf(column: CatalogColumn, values: readonly string[], isNegated: boolean): string {
  const literals = values.map(quoteLiteral).join(", ");
  const test = values.length === 1
    ? `${columnSql(column)} ${isNegated ? "<>" : "="} ${literals}`
    : `${columnSql(column)} ${isNegated ? "NOT IN" : "IN"} (${literals})`;
  return isNegated ? orNull(test, column) : test;
}

/** Equality with a word; unless it was quoted, upper and lower case are the same. */
export function textEquals(column: CatalogColumn, { text, isQuoted }: Value, isNegated: boolean): string {
  if (isQuoted) return oneOf(column, [text], isNegated);
  const test = `lower(${columnSql(column)}) ${isNegated ? "<>" : "="} lower(${quoteLiteral(text)})`;
  return isNegated ? orNull(test, column) : test;
}

/** Whether a name holds some words as a whole: "Anna" is in "Anna Berg" and not in "Joanna". A quoted one is the name. */
export function isNamed(column: CatalogColumn, value: Value): string {
  const { text, isQuoted } = value;
  if (isQuoted) return textEquals(column, value, false);
  const literal = text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
  const start = /^[\p{L}\p{N}_]/u.test(text) ? "[[:<:]]" : "";
  const end = /[\p{L}\p{N}_]$/u.test(text) ? "[[:>:]]" : "";
  return `${columnSql(column)} ~* ${quoteLiteral(start + literal + end)}`;
}

export function textMatches(
  column: CatalogColumn,
  { text }: Value,
  pattern: (text: string) => string,
): string {
  return `${columnSql(column)} ILIKE ${quoteLiteral(pattern(escapePattern(text)))}`;
}

export function hasMember(column: CatalogColumn, { text }: Value): string {
  return `${quoteLiteral(text)} = ANY (${columnSql(column)})`;
}

export function isFlagged(column: CatalogColumn, isNegated: boolean): string {
  if (!isNegated) return columnSql(column);
  return column.nullable ? `${columnSql(column)} IS NOT TRUE` : `NOT ${columnSql(column)}`;
}

/** Whether a date or the like is there at all. */
export function isKnown(column: CatalogColumn, isNegated: boolean): string {
  return `${columnSql(column)} IS ${isNegated ? "" : "NOT "}NULL`;
}

/** 0 of these is none: a temperature of 0 is one. */
const amounts = wordSet(
  "stock quantity qty inventory balance discount amount units fee fees tax tip votes points",
);

/** What "without" says of a column; undefined where it has more than one kind of nothing, as JSON does. */
export function isMissing(column: CatalogColumn): string | undefined {
  const name = columnSql(column);
  const kind = columnKind(column);
  const isReference = column.isPrimaryKey || column.reference !== "";
  if (kind === "other") return undefined;
  if (kind === "flag") return isFlagged(column, true);
  if (kind === "list") return orNull(`cardinality(${name}) = 0`, column);
  if (kind === "text" && !isReference) return orNull(`${name} = ''`, column);
  const isAmount = kind === "number" && !isReference && hasWord(column, amounts);
  return isAmount ? orNull(`${numberSql(column)} = 0`, column) : isKnown(column, true);
}
