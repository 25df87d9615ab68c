import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { tableKey } from "../../../postgres/catalog/sample_values.ts";
import { countTokens } from "../../../text/token_count.ts";
import { describeTable, joinLine, type TableName, tableNames } from "./describe_table.ts";
import { partner } from "./joins.ts";
import { type RankedTable, type Ranking, rankTables } from "./rank_tables.ts";
import { readQuestion } from "./read_question.ts";
import type { SchemaIndex } from "./schema_index.ts";
import type { TableScores } from "./score_tables.ts";

export interface SchemaExcerpt {
  /** For the prompt: tables like CREATE TABLE, join conditions, further tables' names; empty where nothing fits. */
  readonly text: string;
  /** The tables described, in the text's order: best first where not all are. */
  readonly tables: readonly { schema: string; name: string }[];
  /** The text's, by `countTokens`. */
  readonly tokens: number;
  /** How many tables of the catalog are not described. */
  readonly omittedTables: number;
}

/**
 * Chooses and writes what a model needs to know of a schema for a request in words, in at most `maxTokens`. A schema
 * that fits goes in whole, in the catalog's order, but for columns of wide tables that nothing points at. Of a larger
 * one: the tables that the request's words point at, those that join them, their neighbours; each whole or cut to its
 * likely columns; `rank_tables.ts` puts them in order. `recentStatements` are the caller's last ones, oldest first: their tables matter for a request that
 * follows on them. The same input gives the same text.
 */
export function excerptSchema(
  index: SchemaIndex,
  request: {
    question: string;
    recentStatements?: readonly string[];
    /** Numbers of tables that the request is known to mean. */
    meantTables?: readonly number[];
    maxTokens: number;
  },
): SchemaExcerpt {
  const question = readQuestion(request.question, index.splitCompound);
  const writing: Writing = {
    index,
    ranking: rankTables(index, question, request.recentStatements ?? [], request.meantTables),
    nameOf: tableNames(index.catalog.tables),
    maxTokens: request.maxTokens,
  };
  const { text, described } = wholeSchema(writing) ?? bestTables(writing);
  const tables = described.flatMap((at) => {
    const table = index.catalog.tables[at];
    return table === undefined ? [] : [{ schema: table.schema, name: table.name }];
  });
  return {
    text,
    tables,
    tokens: countTokens(text),
    omittedTables: index.catalog.tables.length - tables.length,
  };
}

interface Writing {
  readonly index: SchemaIndex;
  readonly ranking: Ranking;
  readonly nameOf: TableName;
  readonly maxTokens: number;
}

interface Written {
  readonly text: string;
  /** The tables described, by their numbers in the catalog's list, in the text's order. */
  readonly described: readonly number[];
}

interface Block {
  readonly table: number;
  readonly text: string;
  readonly joins: readonly string[];
}

/** How many columns the tables are cut to, all of one role alike: the first number with which they fit. */
const columnSteps = { core: [60, 30, 16, 10, 7, 5], possible: [10, 6] } as const;
/** The shares of the budget up to which tables of each role are described; the rest is for names and joins. */
const shares = { core: 0.75, possible: 0.9 } as const;
/** Characters of values to show for each column, by how sure its table is needed. */
const valuesLength = { core: 160, possible: 60 } as const;
const namesShare = 0.08;
const leastColumnTokens = 4;
/** Of a table that neither the request nor the caller's last statements point at, in a schema that fits whole. */
const mostIdleColumns = 60;

/**
 * All tables where that fits, in the catalog's order, so that one request's text is the next one's too and a provider may
 * have it in its cache. With all columns, but for wide tables that nothing in the request points at.
 */
function wholeSchema(writing: Writing): Written | undefined {
  const { index: { catalog: { tables } }, ranking, maxTokens } = writing;
  const core = new Set(ranking.tables.filter(({ role }) => role === "core").map(({ table }) => table));
  const mostColumns = tables.map((_, table) =>
    ranking.isOverview || core.has(table) || ranking.scores.totals.has(table) ? Infinity : mostIdleColumns
  );
  const columns = tables.reduce(
    (sum, table, at) => sum + Math.min(table.columns.length, mostColumns[at] ?? 0),
    0,
  );
  if (columns * leastColumnTokens > maxTokens) return undefined;
  const shown = new Set(tables.keys());
  const blocks = mostColumns.map((most, table) => block(writing, { table, role: "core" }, most, shown));
  const text = assemble(blocks, "");
  return countTokens(text) <= maxTokens ? { text, described: [...shown] } : undefined;
}

/** The best tables, cut where they must be, as many as fit, then the names of those that follow. */
function bestTables(writing: Writing): Written {
  const { ranking, maxTokens } = writing;
  const blocks: Block[] = [];
  const shown = new Set<number>();
  let used = 0;

  /** Describes a table with at most so many columns, unless more tokens than the limit would be used then. */
  function add(ranked: RankedTable, columns: number, limit: number): boolean {
    shown.add(ranked.table);
    const added = block(writing, ranked, columns, shown);
    const tokens = countTokens(`${added.text}\n${added.joins.join("\n")}\n`);
    if (used + tokens > limit) {
      shown.delete(ranked.table);
      return false;
    }
    used += tokens;
    blocks.push(added);
    return true;
  }

  const core = ranking.tables.filter(({ role }) => role === "core");
  for (const columns of columnSteps.core) {
    blocks.length = 0;
    shown.clear();
    used = 0;
    if (core.every((ranked) => add(ranked, columns, shares.core * maxTokens))) break;
  }
  for (const ranked of ranking.tables) {
    if (ranked.role === "core") continue;
    if (!columnSteps.possible.some((columns) => add(ranked, columns, shares.possible * maxTokens))) break;
  }
  const names = furtherNames(writing, shown, Math.min(namesShare * maxTokens, maxTokens - used));
  return shorten(blocks, names, maxTokens);
}

/** A table's description with at most so many columns, and its joins with the tables that are shown. */
function block(
  { index, ranking, nameOf }: Writing,
  { table: at, role }: RankedTable,
  mostColumns: number,
  shown: ReadonlySet<number>,
): Block {
  const table = index.catalog.tables[at];
  if (table === undefined) return { table: at, text: "", joins: [] };
  const columns = table.columns.length <= mostColumns
    ? [...table.columns.keys()]
    : rankColumns(index, at, ranking.scores, shown).slice(0, mostColumns).sort((a, b) => a - b);
  const text = describeTable({
    name: nameOf(table),
    table,
    columns,
    samples: index.samples.get(tableKey(table.schema, table.name)),
    named: Map.groupBy(ranking.scores.values.get(at) ?? [], ({ column }) => column),
    valuesLength: valuesLength[role],
  });
  const joins = index.joins.joinsOf(at).filter((join) => shown.has(partner(join, at)));
  return { table: at, text, joins: joins.map((join) => joinLine(join, index.catalog.tables, nameOf)) };
}

/** A line of names; in an overview with the schemas and their sizes before it. */
function furtherNames(
  { index, ranking, nameOf }: Writing,
  shown: ReadonlySet<number>,
  maxTokens: number,
): string {
  const schemas = ranking.isOverview ? schemaLine(index) : "";
  const names: string[] = [];
  let used = countTokens(schemas) + 8;
  for (const { table } of ranking.tables) {
    const entry = index.catalog.tables[table];
    if (entry === undefined || shown.has(table)) continue;
    const name = nameOf(entry);
    used += countTokens(`, ${name}`);
    if (used > maxTokens) break;
    names.push(name);
  }
  const further = names.length === 0 ? "" : `-- Further tables: ${names.join(", ")}`;
  if (used > maxTokens && names.length === 0) return "";
  return [schemas, further].filter((line) => line !== "").join("\n");
}

const mostSchemas = 40;

function schemaLine(index: SchemaIndex): string {
  const bySchema = [...Map.groupBy(index.catalog.tables, ({ schema }) => schema)];
  const largest = bySchema.sort(([, a], [, b]) => b.length - a.length).slice(0, mostSchemas);
  const rest = bySchema.length - largest.length;
  const list = largest.map(([schema, tables]) => `${schema} (${tables.length} tables)`).join(", ");
  return `-- Schemas: ${list}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Tokens of parts do not add up exactly: drops the last parts until the whole keeps to the budget. */
function shorten(blocks: readonly Block[], names: string, maxTokens: number): Written {
  const kept = [...blocks];
  let text = assemble(kept, names);
  if (countTokens(text) > maxTokens) text = assemble(kept, "");
  while (kept.length > 0 && countTokens(text) > maxTokens) {
    kept.pop();
    text = assemble(kept, "");
  }
  return { text: countTokens(text) <= maxTokens ? text : "", described: kept.map(({ table }) => table) };
}

function assemble(blocks: readonly Block[], names: string): string {
  const joins = new Set(blocks.flatMap((entry) => entry.joins));
  const parts = [
    ...blocks.map((entry) => entry.text),
    joins.size === 0 ? "" : `-- Joins:\n${[...joins].join("\n")}`,
    names,
  ];
  return parts.filter((each) => each !== "").join("\n");
}

const labelWords = new Set("name title label subject status state type category code description".split(" "));
const measureWords = new Set("amount amt total price cost quantity qty count value rate".split(" "));

/** A table's column numbers, the most likely needed first: keys, what the request names, dates, labels, measures. */
function rankColumns(
  index: SchemaIndex,
  table: number,
  scores: TableScores,
  shown: ReadonlySet<number>,
): number[] {
  const words = index.tables[table];
  if (words === undefined) return [];
  const valued = new Set(scores.values.get(table)?.map((place) => place.column));
  const joining = new Set<string>();
  for (const join of index.joins.joinsOf(table)) {
    if (!shown.has(partner(join, table))) continue;
    if (join.from === table) join.fromColumns.forEach((column) => joining.add(column));
    if (join.to === table) join.toColumns.forEach((column) => joining.add(column));
  }
  const value = words.table.columns.map((column, at) => {
    const stems = words.columns[at] ?? [];
    const asked = stems.reduce((sum, stem) => sum + (scores.words.get(stem) ?? 0), 0) /
      Math.sqrt(stems.length || 1);
    return 6 * asked + (valued.has(at) ? 6 : 0) + (joining.has(column.name) ? 5 : 0) +
      usualValue(column, stems);
  });
  return [...value.keys()].sort((a, b) => (value[b] ?? 0) - (value[a] ?? 0) || a - b);
}

/** How often a column of this kind is needed, whatever the request. */
function usualValue(column: CatalogColumn, stems: readonly string[]): number {
  const key = column.isPrimaryKey ? 4 : column.reference === "" ? 0 : 1.5;
  const date = /^(?:date|timestamp)/.test(column.type) ? 1 : 0;
  const label = stems.some((stem) => labelWords.has(stem)) ? 1.2 : 0;
  const measure = stems.some((stem) => measureWords.has(stem)) ? 0.8 : 0;
  return key + date + label + measure + (column.labels.length > 0 ? 0.5 : 0);
}
