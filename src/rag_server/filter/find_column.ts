import type { AppError } from "../../core/app_error.ts";
import type { ColumnType } from "../search/column_type.ts";
import { holdsNul } from "./literal.ts";

/** A column that conditions may name. */
export interface FilterColumn extends ColumnType {
  /** The paths that may be named, each with all that is inside of it, of a JSON column that may not be named itself. */
  readonly paths?: readonly (readonly string[])[];
}

/** The column that a condition names, or a path into it. */
interface FoundColumn {
  /** Not quoted. */
  readonly name: string;
  readonly type: ColumnType;
  /** The keys of a path, from the column inwards; none for the column itself. */
  readonly keys: readonly string[];
}

/**
 * The column that a condition names: by its exact name, else as a path into a JSON column. A path is `meta.owner.name`
 * or `meta->'owner'->>'name'`, with or without the quotes; a number is a place in a JSON array. Only what is in
 * `columns` is ever found, so PostgreSQL's own columns (`ctid`) and whole rows are not.
 */
export function findColumn(
  reference: string,
  columns: ReadonlyMap<string, FilterColumn>,
): FoundColumn | undefined {
  const exact = columns.get(reference);
  if (exact !== undefined && exact.paths === undefined) return { name: reference, type: exact, keys: [] };
  const [name = "", ...keys] = reference.includes("->")
    ? reference.split(/->>?/).map((part) => part.trim().replace(/^'(.*)'$/, "$1"))
    : reference.split(".");
  const type = columns.get(name);
  const isPath = type?.kind === "json" && keys.length > 0 &&
    keys.every((key) => key !== "" && !holdsNul(key));
  if (!isPath) return undefined;
  const { paths = [[]] } = type;
  return paths.some((path) => path.every((key, at) => keys[at] === key)) ? { name, type, keys } : undefined;
}

/**
 * The columns of a table that requests may name: those in `names`, which are written as in conditions; all of them where
 * it is absent.
 *
 * @throws what `fail` makes of a name that the table does not have
 */
export function requestColumns(
  columns: ReadonlyMap<string, ColumnType>,
  names: readonly string[] | undefined,
  fail: (reason: string) => AppError,
): ReadonlyMap<string, FilterColumn> {
  if (names === undefined) return columns;
  const allowed = new Map<string, FilterColumn>();
  for (const reference of names) {
    const found = findColumn(reference, columns);
    if (found === undefined) throw fail(`it has no column "${reference}", which filter_columns names`);
    const { name, type, keys } = found;
    const known = allowed.get(name);
    if (keys.length === 0) allowed.set(name, type);
    else if (known === undefined) allowed.set(name, { ...type, paths: [keys] });
    else if (known.paths !== undefined) allowed.set(name, { ...type, paths: [...known.paths, keys] });
  }
  return allowed;
}
