import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { columnKind, isBulky, isOrderable } from "./column_kind.ts";
import { numberSql } from "./conditions.ts";
import { type Draft, type Grouping, isAggregated, type Measure, type Ordering } from "./draft.ts";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";

interface StatementParts {
  readonly select: string;
  readonly conditions: readonly string[];
  readonly groupBy?: string;
  readonly orderBy?: string;
  readonly limit?: number;
}

const column = ({ name }: CatalogColumn): string => quoteIfNeeded(name);

function tableSql({ schema, name }: CatalogTable): string {
  return schema === "public" ? quoteIfNeeded(name) : `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`;
}

function measureSql({ aggregate, column }: Measure): string {
  const value = numberSql(column);
  if (aggregate === "median") {
    return `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${value}) AS ${
      quoteIfNeeded(`median_${column.name}`)
    }`;
  }
  const prefix = { avg: "average", sum: "sum", min: "lowest", max: "highest" }[aggregate];
  return `${aggregate}(${value}) AS ${quoteIfNeeded(`${prefix}_${column.name}`)}`;
}

/** A date's hours keep their time; what is longer than that is a date. */
function groupSql({ column: { name }, unit }: Grouping): string {
  const value = quoteIfNeeded(name);
  if (unit === undefined) return value;
  const isShort = unit === "hour" || unit === "minute";
  return `date_trunc('${unit}', ${value})${isShort ? "" : "::date"} AS ${quoteIfNeeded(unit)}`;
}

/** Rows that nobody asked to leave out are not left out: the statement's reader fetches page by page. */
const limited = ({ limit }: Draft): { limit?: number } => limit === undefined ? {} : { limit };

function summaryParts(draft: Draft): StatementParts {
  const measures = draft.measures.map(measureSql);
  const counts = draft.distinct === undefined
    ? "count(*) AS count"
    : `count(DISTINCT ${column(draft.distinct)}) AS ${quoteIfNeeded(`distinct_${draft.distinct.name}`)}`;
  if (draft.counts || measures.length === 0) measures.unshift(counts);
  const select = [...draft.groups.map(groupSql), ...measures].join(", ");
  if (draft.groups.length === 0) return { select, conditions: draft.conditions };

  const positions = draft.groups.map((_, index) => String(index + 1));
  const isOverTime = draft.groups[0] !== undefined && columnKind(draft.groups[0].column) === "date";
  const byMeasure = `${positions.length + 1} ${draft.rank ?? "DESC"}`;
  const isRanked = !isOverTime || draft.rank !== undefined;
  return {
    select,
    conditions: draft.conditions,
    groupBy: positions.join(", "),
    orderBy: [...(isRanked ? [byMeasure] : []), ...positions].join(", "),
    ...limited(draft),
  };
}

function distinctParts(draft: Draft, value: CatalogColumn): StatementParts {
  const direction = draft.ordering?.direction === "DESC" ? " DESC" : "";
  return {
    select: `DISTINCT ${column(value)}`,
    conditions: draft.conditions,
    orderBy: `${column(value)}${direction}`,
    ...limited(draft),
  };
}

/**
 * The primary key makes the order of equal rows certain, so that a second page goes on where the first ended. A view has
 * none, and most begin with what their rows are of.
 */
function listOrder(ordering: Ordering | undefined, table: CatalogTable): string {
  const isView = table.kind === "VIEW" || table.kind === "MATERIALIZED VIEW";
  const keys = isView
    ? table.columns.filter(isOrderable).slice(0, 1)
    : table.columns.filter(({ isPrimaryKey }) => isPrimaryKey);
  const terms = keys.filter((key) => key !== ordering?.column).map(column);
  if (ordering !== undefined) {
    const { column: by, direction } = ordering;
    const descending = by.nullable ? " DESC NULLS LAST" : " DESC";
    terms.unshift(`${column(by)}${direction === "DESC" ? descending : ""}`);
  }
  return terms.join(", ");
}

/** "the cheapest product": it, or all that are equally cheap, in place of the first of an order. */
function extremeCondition({ ordering, limit, mentions, conditions }: Draft, table: CatalogTable) {
  const isOne = ordering?.isSuperlative === true && mentions.some(({ isPlural }) => !isPlural);
  // PostgreSQL knows no greatest of other types
  const hasBounds = ordering !== undefined &&
    ["number", "date", "text", "enum"].includes(columnKind(ordering.column));
  if (!isOne || !hasBounds || limit !== undefined) return undefined;
  const name = column(ordering.column);
  const bound = `${ordering.direction === "DESC" ? "max" : "min"}(${name})`;
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `${name} = (SELECT ${bound} FROM ${tableSql(table)}${where})`;
}

function listParts(draft: Draft, table: CatalogTable): StatementParts {
  const hidesColumns = table.columns.some(isBulky);
  const shown = draft.projection.length > 0
    ? draft.projection
    : hidesColumns
    ? table.columns.filter((candidate) => !isBulky(candidate))
    : [];
  const extreme = extremeCondition(draft, table);
  return {
    select: shown.length === 0 ? "*" : shown.map(column).join(", "),
    conditions: extreme === undefined ? draft.conditions : [...draft.conditions, extreme],
    orderBy: listOrder(extreme === undefined ? draft.ordering : undefined, table),
    ...limited(draft),
  };
}

/** The statement that a draft without problems stands for. */
export function renderStatement(draft: Draft, table: CatalogTable): string {
  const parts = isAggregated(draft)
    ? summaryParts(draft)
    : draft.distinct !== undefined
    ? distinctParts(draft, draft.distinct)
    : listParts(draft, table);
  const lines = [`SELECT ${parts.select}`, `FROM ${tableSql(table)}`];
  if (parts.conditions.length > 0) lines.push(`WHERE ${parts.conditions.join("\n  AND ")}`);
  if (parts.groupBy !== undefined) lines.push(`GROUP BY ${parts.groupBy}`);
  if (parts.orderBy) lines.push(`ORDER BY ${parts.orderBy}`);
  if (parts.limit !== undefined) lines.push(`LIMIT ${parts.limit}`);
  return lines.join("\n");
}
