import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { escapePattern, quoteIfNeeded, quoteLiteral } from "../../../postgres/sql_text.ts";
import { columnKind, hasWord, isBulky, isOrderable, isView } from "./columns.ts";
import { type Draft, type Grouping, isAggregated, type Measure } from "./draft.ts";
import { wordSet } from "./request_tokens.ts";

/** The statement that a draft without refusals stands for. */
export function renderStatement(draft: Draft, table: CatalogTable): string {
  const { distinct, ordering, limit, groups } = draft;
  const conditions = [...draft.conditions];
  const lines: string[] = [];
  if (isAggregated(draft)) {
    const positions = groups.map((_, at) => String(at + 1));
    lines.push(summaryColumns(draft));
    if (groups.length > 0) {
      lines.push(`GROUP BY ${positions.join(", ")}`, `ORDER BY ${summaryOrder(draft, positions).join(", ")}`);
    }
  } else if (distinct !== undefined) {
    const direction = ordering?.direction === "DESC" ? " DESC" : "";
    lines.push(`DISTINCT ${columnSql(distinct)}`, `ORDER BY ${columnSql(distinct)}${direction}`);
  } else {
    const extreme = extremeCondition(draft, table);
    const order = listOrder(extreme === undefined ? ordering : undefined, table);
    lines.push(listColumns(draft, table), ...order === "" ? [] : [`ORDER BY ${order}`]);
    if (extreme !== undefined) conditions.push(extreme);
  }
  const [select, ...rest] = lines;
  const where = conditions.length === 0 ? [] : [`WHERE ${conditions.join("\n  AND ")}`];
  // rows that nobody asked to leave out are not left out: the statement's reader fetches page by page
  const limited = limit === undefined ? [] : [`LIMIT ${limit}`];
  return [`SELECT ${select}`, `FROM ${tableSql(table)}`, ...where, ...rest, ...limited].join("\n");
}

function tableSql({ schema, name }: CatalogTable): string {
  return schema === "public" ? quoteIfNeeded(name) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`;
}

function summaryColumns({ counts, distinct, groups, measures }: Draft): string {
  const count = distinct === undefined
    ? "count(*) AS count"
    : `count(DISTINCT ${columnSql(distinct)}) AS ${quoteIfNeeded(`distinct_${distinct.name}`)}`;
  const counted = counts || measures.length === 0 ? [count] : [];
  return [...groups.map(groupSql), ...counted, ...measures.map(measureSql)].join(", ");
}

/** A date's hours keep their time; what is longer than that is a date. */
function groupSql({ column, unit }: Grouping): string {
  if (unit === undefined) return columnSql(column);
  const isShort = unit === "hour" || unit === "minute";
  return `date_trunc('${unit}', ${columnSql(column)})${isShort ? "" : "::date"} AS ${quoteIfNeeded(unit)}`;
}

function measureSql({ aggregate, column }: Measure): string {
  const prefix = { avg: "average", sum: "sum", min: "lowest", max: "highest", median: "median" }[aggregate];
  const value = numberSql(column);
  const figure = aggregate === "median"
    ? `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${value})`
    : `${aggregate}(${value})`;
  return `${figure} AS ${quoteIfNeeded(`${prefix}_${column.name}`)}`;
}

/** Times go on, other groups begin with the largest. */
function summaryOrder({ groups: [first], rank }: Draft, positions: readonly string[]): string[] {
  const isOverTime = first !== undefined && columnKind(first.column) === "date";
  const byMeasure = isOverTime && rank === undefined ? [] : [`${positions.length + 1} ${rank ?? "DESC"}`];
  return [...byMeasure, ...positions];
}

function listColumns({ projection }: Draft, { columns }: CatalogTable): string {
  if (projection.length === 0 && !columns.some(isBulky)) return "*";
  const shown = projection.length > 0 ? projection : columns.filter((column) => !isBulky(column));
  return shown.length === 0 ? "*" : shown.map(columnSql).join(", ");
}

/**
 * The primary key makes the order of equal rows certain, so that a second page goes on where the first ended. A view has
 * none, and most begin with what their rows are of.
 */
function listOrder(ordering: Draft["ordering"], table: CatalogTable): string {
  const keys = isView(table)
    ? table.columns.filter(isOrderable).slice(0, 1)
    : table.columns.filter(({ isPrimaryKey }) => isPrimaryKey);
  const terms = keys.filter((key) => key !== ordering?.column).map(columnSql);
  if (ordering === undefined) return terms.join(", ");
  const { column, direction } = ordering;
  const descending = column.nullable ? " DESC NULLS LAST" : " DESC";
  return [`${columnSql(column)}${direction === "DESC" ? descending : ""}`, ...terms].join(", ");
}

/** "the cheapest product": it, or all that are equally cheap, in place of the first of an order. */
function extremeCondition({ ordering, limit, isSingular, conditions }: Draft, table: CatalogTable) {
  if (!ordering?.isSuperlative || !isSingular || limit !== undefined) return undefined;
  // PostgreSQL knows no greatest of other types
  if (!["number", "date", "text", "enum"].includes(columnKind(ordering.column))) return undefined;
  const name = columnSql(ordering.column);
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  const bound = `${ordering.direction === "DESC" ? "max" : "min"}(${name})`;
  return `${name} = (SELECT ${bound} FROM ${tableSql(table)}${where})`;
}

/** A column as SQL. */
const columnSql = ({ name }: CatalogColumn): string => quoteIfNeeded(name);

/** `money` takes no part in arithmetic or comparisons with numbers. */
export function numberSql(column: CatalogColumn): string {
  return column.type === "money" ? `${columnSql(column)}::numeric` : columnSql(column);
}

/** A value as the request gave it; one that was quoted is meant letter by letter. */
export interface Value {
  readonly text: string;
  readonly isQuoted: boolean;
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
