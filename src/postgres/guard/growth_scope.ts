import { type Columns, noColumns } from "./growth_columns.ts";
import { eitherOf, type Shape } from "./growth_shape.ts";

/** What names mean at a place of the statement. */
export interface Scope {
  /** Of the FROM clause. */
  readonly columns: Columns;
  readonly ctes: ReadonlyMap<string, Columns>;
  /** Of the query around this one. */
  readonly outer?: Scope;
}

export const emptyScope: Scope = { columns: noColumns, ctes: new Map() };

/**
 * The worst that a name may mean: a column or a whole row, of this query or of one around it, since which of them has
 * it is not always told. Undefined for a column of a stored table. `spend` is told of each query looked into.
 */
export function findColumn(
  scope: Scope,
  parts: readonly string[],
  spend: (steps: number) => void,
): Shape | undefined {
  const name = parts.at(-1);
  if (name === undefined) return undefined;
  const found: Shape[] = [];
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    spend(1);
    const column = at.columns.find(name, parts.at(-2));
    const row = parts.length === 1 ? at.columns.findRow(name) : undefined;
    if (column !== undefined) found.push(column);
    if (row !== undefined) found.push(row);
  }
  return found.length === 0 ? undefined : eitherOf(found);
}
