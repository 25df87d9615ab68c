import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";

/** What is left of a table's weight where the planner knows it to be empty. */
export const emptyFactor = 0.6;

/** How often a table is meant, as far as the catalog tells: one that many join and that holds many rows; from 0. */
export function tableWeight(table: CatalogTable, joinCount: number, copyFactor: number): number {
  const rows = Math.max(0, table.estimatedRows);
  const emptiness = table.estimatedRows === 0 ? emptyFactor : 1;
  return copyFactor * emptiness * (Math.log2(1 + joinCount) + 0.3 * Math.log10(1 + rows));
}

const nextOfSchema = 0.8;

/** All tables, those first that tell most about the database; each schema's best come before any schema's tenth. */
export function overviewOrder(tables: readonly CatalogTable[], weights: readonly number[]): number[] {
  const weight = (table: number) => weights[table] ?? 0;
  const bySchema = Map.groupBy(tables.keys(), (table) => tables[table]?.schema ?? "");
  const value = new Map<number, number>();
  for (const members of bySchema.values()) {
    members.sort((a, b) => weight(b) - weight(a) || a - b);
    members.forEach((table, at) => value.set(table, weight(table) * nextOfSchema ** at));
  }
  return [...value.keys()].sort((a, b) => (value.get(b) ?? 0) - (value.get(a) ?? 0) || a - b);
}
