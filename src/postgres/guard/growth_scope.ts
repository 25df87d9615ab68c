import { type Columns, noColumns } from "./growth_columns.ts";
import type { Shape } from "./growth_shape.ts";

/** What names mean at a place of the statement. */
export interface Scope {
  /** Of the FROM clause. */
  readonly columns: Columns;
  readonly ctes: ReadonlyMap<string, Columns>;
  /** Of the query around this one. */
  readonly outer?: Scope;
}

export const emptyScope: Scope = { columns: noColumns, ctes: new Map() };

/** The column that a name means; undefined for one of a stored table. `spend` is told of each query looked into. */
export function findColumn(
  scope: Scope,
  parts: readonly string[],
  spend: (steps: number) => void,
): Shape | undefined {
  const name = parts.at(-1);
  if (name === undefined) return undefined;
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    spend(1);
    const shape = at.columns.find(name, parts.at(-2));
    if (shape !== undefined) return shape;
  }
  return undefined;
}
