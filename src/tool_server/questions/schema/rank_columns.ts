import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { partner } from "./join_graph.ts";
import type { SchemaIndex } from "./schema_index.ts";
import type { TableScores } from "./score_tables.ts";

const labelWords = new Set("name title label subject status state type category code description".split(" "));
const measureWords = new Set("amount amt total price cost quantity qty count value rate".split(" "));

/** A table's column numbers, the most likely needed first: keys, what the request names, dates, labels, measures. */
export function rankColumns(
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
