import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { quoteIfNeeded, quoteLiteral } from "../../../postgres/sql_text.ts";
import type { Join } from "./joins.ts";
import { knownValues, type ValuePlace } from "./value_index.ts";

/** How a request's excerpt writes its tables' names: with their schemas unless `public` is the only one. */
export type TableName = (table: CatalogTable) => string;

interface TableDescription {
  readonly name: string;
  readonly table: CatalogTable;
  /** Numbers of the columns to describe, in the table's order. */
  readonly columns: readonly number[];
  readonly samples: ReadonlyMap<string, readonly string[]> | undefined;
  /** Values that the request names, by column number; they are among those shown. */
  readonly named: ReadonlyMap<number, readonly ValuePlace[]>;
  /** Characters of a column's values to show, about. */
  readonly valuesLength: number;
}

const mostValues = 12;

export function tableNames(tables: readonly CatalogTable[]): TableName {
  const isPlain = tables.every((table) => table.schema === "public");
  return (table) =>
    isPlain ? quoteIfNeeded(table.name) : `${quoteIfNeeded(table.schema)}.${quoteIfNeeded(table.name)}`;
}

/** A table as lines like those of CREATE TABLE, with what the catalog says of it in comments. */
export function describeTable(description: TableDescription): string {
  const { table, columns } = description;
  const shown = columns.flatMap((at) => {
    const column = table.columns[at];
    return column === undefined ? [] : [columnLine(description, column, at)];
  });
  const hidden = table.columns.length - shown.length;
  if (hidden > 0) shown.push(`  -- … ${hidden} more columns`);
  const kind = table.kind === "VIEW" || table.kind === "MATERIALIZED VIEW" ? table.kind : "TABLE";
  const comment = commentOf(table.comment, rowCount(table));
  return `${kind} ${description.name} (${comment}\n${shown.join("\n")}\n)`;
}

/** What the catalog and the server say of a table or column, as an SQL comment. */
function commentOf(comment: string, note: string): string {
  const notes = [dataLine(comment), note].filter((text) => text !== "");
  return notes.length === 0 ? "" : ` -- ${notes.join("; ")}`;
}

function rowCount(table: CatalogTable): string {
  if (table.estimatedRows < 0 || table.kind === "VIEW") return "";
  return `~${Number(table.estimatedRows.toPrecision(2))} rows`;
}

function columnLine(description: TableDescription, column: CatalogColumn, at: number): string {
  const key = column.isPrimaryKey ? " PK" : column.isUnique ? " UNIQUE" : "";
  // what decides how to join; of other columns it would seldom change a statement
  const notNull = column.reference !== "" && !column.nullable && !column.isPrimaryKey ? " NOT NULL" : "";
  const comment = commentOf(column.comment, valuesNote(description, column, at));
  return `  ${quoteIfNeeded(column.name)} ${shortenType(column.type)}${key}${notNull},${comment}`;
}

function valuesNote(description: TableDescription, column: CatalogColumn, at: number): string {
  const values = knownValues(column, description.samples?.get(column.name)).filter(fitsLine);
  const first = firstValues(values, description.valuesLength);
  // in their own order where that shows them all, so that the same schema gives the same text
  const named = (description.named.get(at) ?? []).map(({ value }) => value);
  const missed = named.filter((value) => fitsLine(value) && !first.includes(value));
  const ordered = [...new Set([...missed, ...values])];
  const shown = missed.length === 0 ? first : firstValues(ordered, description.valuesLength);
  if (shown.length === 0) return "";
  return `values: ${shown.map(quoteLiteral).join(", ")}${shown.length < ordered.length ? ", …" : ""}`;
}

/** Whether a value can stand on the line as it is; else it would be a wrong literal. */
function fitsLine(value: string): boolean {
  return value !== "" && dataLine(value) === value;
}

function firstValues(values: readonly string[], maxLength: number): string[] {
  const shown: string[] = [];
  let length = 0;
  for (const value of values) {
    length += quoteLiteral(value).length;
    if (shown.length === mostValues || (shown.length > 0 && length > maxLength)) break;
    shown.push(value);
  }
  return shown;
}

/** A join's condition, with what is special about it in a comment. */
export function joinLine(join: Join, tables: readonly CatalogTable[], nameOf: TableName): string {
  const [from, to] = [tables[join.from], tables[join.to]];
  if (from === undefined || to === undefined) return "";
  const pairs = join.fromColumns.map((column, at) =>
    `${nameOf(from)}.${quoteIfNeeded(column)} = ${nameOf(to)}.${quoteIfNeeded(join.toColumns[at] ?? "")}`
  );
  return pairs.join(" AND ") + (from === to ? " -- the table with itself" : "") +
    (join.isDeclared ? "" : " -- by the names, not declared");
}

const longestLine = 120;

/**
 * Text from the database as one line of a prompt's comment: at most 120 characters, without control characters, marks
 * that direct a line's reading, backticks or the ends of a comment.
 */
function dataLine(text: string): string {
  const head = text.slice(0, 4 * longestLine).normalize("NFC");
  const line = head.replace(/\*\/|\/\*|`/g, " ").replace(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= longestLine ? line : `${characters.slice(0, longestLine - 1).join("")}…`;
}

const shortTypes: readonly (readonly [RegExp, string])[] = [
  [/^timestamp(\(\d\))? with time zone/, "timestamptz"],
  [/^timestamp(\(\d\))? without time zone/, "timestamp"],
  [/^time(\(\d\))? with time zone/, "timetz"],
  [/^time(\(\d\))? without time zone/, "time"],
  [/^character varying(\(\d+\))?/, "varchar"],
  // a char without a length is one character long
  [/^character(?=\(\d+\))/, "char"],
  [/^double precision/, "float8"],
  [/^integer/, "int"],
  [/^boolean/, "bool"],
  [/^numeric\([\d,-]+\)/, "numeric"],
  [/^bit varying(\(\d+\))?/, "varbit"],
];

/** A type's name in PostgreSQL's shortest spelling, most lengths and precisions left out: they matter to few queries. */
function shortenType(type: string): string {
  for (const [long, name] of shortTypes) if (long.test(type)) return type.replace(long, name);
  return type;
}
