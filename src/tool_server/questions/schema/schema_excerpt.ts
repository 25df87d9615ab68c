import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { tableKey } from "../../../postgres/catalog/sample_values.ts";
import { countTokens } from "../../../text/token_count.ts";
import { describeTable, joinCondition, type TableName, tableNames } from "./describe_table.ts";
import { type Join, partner } from "./joins.ts";
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
 * likely columns. `recentStatements` are the caller's last ones, oldest first: their tables matter for a request that
 * follows on them. The same input gives the same text.
 */
export function excerptSchema(
  index: SchemaIndex,
  request: { question: string; recentStatements?: readonly string[]; maxTokens: number },
): SchemaExcerpt {
  const ranking = rankTables(
    index,
    readQuestion(request.question, index.splitCompound),
    request.recentStatements ?? [],
  );
  const { text, described } = excerptParts(index, ranking, request.maxTokens);
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

interface ExcerptParts {
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

/** Writes the ranked tables into the budget. */
function excerptParts(index: SchemaIndex, ranking: Ranking, maxTokens: number): ExcerptParts {
  const nameOf = tableNames(index.catalog.tables);
  return wholeSchema(index, ranking, nameOf, maxTokens) ?? bestTables(index, ranking, nameOf, maxTokens);
}

/**
 * All tables where that fits, in the catalog's order, so that one request's text is the next one's too and a provider may
 * have it in its cache. With all columns, but for wide tables that nothing in the request points at.
 */
function wholeSchema(
  index: SchemaIndex,
  ranking: Ranking,
  nameOf: TableName,
  maxTokens: number,
): ExcerptParts | undefined {
  const { tables } = index.catalog;
  const core = new Set(ranking.tables.filter(({ role }) => role === "core").map(({ table }) => table));
  const isIdle = (table: number) =>
    !ranking.isOverview && !core.has(table) && !ranking.scores.totals.has(table);
  const mostColumns = (table: number) => isIdle(table) ? mostIdleColumns : Infinity;
  const columns = tables.reduce((sum, { columns }, at) => sum + Math.min(columns.length, mostColumns(at)), 0);
  if (columns * leastColumnTokens > maxTokens) return undefined;
  const shown = new Set(tables.keys());
  const blocks = [...shown].map((table) =>
    block(index, ranking, { table, role: "core", columns: mostColumns(table), shown, nameOf })
  );
  const text = assemble(blocks, "");
  return countTokens(text) <= maxTokens ? { text, described: [...shown] } : undefined;
}

/** The best tables, cut where they must be, as many as fit, then the names of those that follow. */
function bestTables(
  index: SchemaIndex,
  ranking: Ranking,
  nameOf: TableName,
  maxTokens: number,
): ExcerptParts {
  const writer = createWriter(index, ranking, nameOf);
  const core = ranking.tables.filter(({ role }) => role === "core");
  for (const columns of columnSteps.core) {
    writer.clear();
    if (core.every((ranked) => writer.add(ranked, columns, shares.core * maxTokens))) break;
  }
  const limit = shares.possible * maxTokens;
  for (const ranked of ranking.tables) {
    if (ranked.role === "core") continue;
    if (!columnSteps.possible.some((columns) => writer.add(ranked, columns, limit))) break;
  }
  const room = Math.min(namesShare * maxTokens, maxTokens - writer.used());
  return shorten(writer.blocks, furtherNames(index, ranking, writer.shown, nameOf, room), maxTokens);
}

interface Writer {
  readonly blocks: Block[];
  readonly shown: Set<number>;
  /** Tokens of the blocks, about. */
  used(): number;
  /** Describes a table with at most so many columns, unless more tokens than the limit would be used then. */
  add(ranked: RankedTable, columns: number, limit: number): boolean;
  clear(): void;
}

function createWriter(index: SchemaIndex, ranking: Ranking, nameOf: TableName): Writer {
  const blocks: Block[] = [];
  const shown = new Set<number>();
  let used = 0;
  return {
    blocks,
    shown,
    used: () => used,
    add({ table, role }, columns, limit) {
      shown.add(table);
      const added = block(index, ranking, { table, role, columns, shown, nameOf });
      const tokens = countTokens(`${added.text}\n${added.joins.join("\n")}\n`);
      if (used + tokens > limit) {
        shown.delete(table);
        return false;
      }
      used += tokens;
      blocks.push(added);
      return true;
    },
    clear() {
      blocks.length = 0;
      shown.clear();
      used = 0;
    },
  };
}

function block(
  index: SchemaIndex,
  ranking: Ranking,
  options: RankedTable & { columns: number; shown: ReadonlySet<number>; nameOf: TableName },
): Block {
  const { table: at, shown, nameOf } = options;
  const { tables } = index.catalog;
  const table = tables[at];
  if (table === undefined) return { table: at, text: "", joins: [] };
  const columns = table.columns.length <= options.columns
    ? [...table.columns.keys()]
    : rankColumns(index, at, ranking.scores, shown).slice(0, options.columns).sort((a, b) => a - b);
  const named = new Map<number, string[]>();
  for (const { column, value } of ranking.scores.values.get(at) ?? []) {
    named.set(column, [...named.get(column) ?? [], value]);
  }
  const text = describeTable({
    name: nameOf(table),
    table,
    columns,
    samples: index.samples.get(tableKey(table.schema, table.name)),
    named,
    valuesLength: valuesLength[options.role],
  });
  const joins = index.joins.joinsOf(at).filter((join) => shown.has(partner(join, at)));
  return { table: at, text, joins: joins.map((join) => joinLine(join, index, nameOf)) };
}

function joinLine(join: Join, index: SchemaIndex, nameOf: TableName): string {
  const condition = joinCondition(join, index.catalog.tables, nameOf);
  return join.isDeclared ? condition : `${condition} -- by the names, not declared`;
}

/** A line of names; in an overview with the schemas and their sizes before it. */
function furtherNames(
  index: SchemaIndex,
  ranking: Ranking,
  shown: ReadonlySet<number>,
  nameOf: TableName,
  maxTokens: number,
): string {
  const { tables } = index.catalog;
  const schemas = ranking.isOverview ? schemaLine(index) : "";
  const names: string[] = [];
  let used = countTokens(schemas) + 8;
  for (const { table } of ranking.tables) {
    const entry = tables[table];
    if (entry === undefined || shown.has(table)) continue;
    const name = nameOf(entry);
    used += countTokens(`, ${name}`);
    if (used > maxTokens) break;
    names.push(name);
  }
  const further = names.length === 0 ? "" : `-- Further tables: ${names.join(", ")}`;
  return [used > maxTokens && names.length === 0 ? "" : schemas, further].filter((line) => line !== "").join(
    "\n",
  );
}

const mostSchemas = 40;

function schemaLine(index: SchemaIndex): string {
  const counts = new Map<string, number>();
  for (const { schema } of index.catalog.tables) counts.set(schema, (counts.get(schema) ?? 0) + 1);
  const largest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, mostSchemas);
  const rest = counts.size - largest.length;
  return `-- Schemas: ${largest.map(([schema, count]) => `${schema} (${count} tables)`).join(", ")}` +
    (rest > 0 ? ` and ${rest} more` : "");
}

/** Tokens of parts do not add up exactly: drops the last parts until the whole keeps to the budget. */
function shorten(blocks: readonly Block[], names: string, maxTokens: number): ExcerptParts {
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
