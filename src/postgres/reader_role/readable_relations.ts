import { AppError } from "../../core/app_error.ts";
import { serverItself } from "../../core/principal.ts";
import type { ColumnRefusal } from "../catalog/private_columns.ts";
import type { Database } from "../database.ts";
import type { Row } from "../read/portal.ts";

/** A table or a view, with what of it a reader is to see. */
export interface ReadableRelation {
  readonly schema: string;
  readonly name: string;
  /** In the table's order. */
  readonly columns: readonly string[];
  readonly excluded: readonly string[];
  /** For a view: excluded columns that it shows with its owner's rights, directly or by way of other views. */
  readonly shows: readonly string[];
  /** What the role that asks may read of it. */
  readonly mayRead: readonly string[];
}

const relations = `
SELECT c.oid, n.nspname, c.relname,
  c.relkind IN ('v', 'm') AND NOT coalesce('security_invoker=true' = ANY (c.reloptions)
    OR 'security_invoker=on' = ANY (c.reloptions), false),
  array_to_json(array_agg(a.attname ORDER BY a.attnum)),
  array_to_json(array_agg(a.attnum ORDER BY a.attnum)),
  array_to_json(array_agg(
    has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
GROUP BY c.oid, n.oid, n.nspname, c.relname, c.relkind, c.reloptions
ORDER BY n.nspname, c.relname`;

/** Which columns a view is made of. */
const sources = `
SELECT DISTINCT r.ev_class, d.refobjid, d.refobjsubid
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
  AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class AND d.refobjsubid > 0`;

/**
 * The tables and views of a database, in the order of their names.
 * @throws {AppError} `unavailable` where it cannot be reached, `upstream` where it refuses
 */
export async function readRelations(
  database: Database,
  isExcluded: ColumnRefusal,
  signal: AbortSignal,
): Promise<readonly ReadableRelation[]> {
  const read = (sql: string) => readOwn(database, sql, signal);
  const [rows, dependencies] = await Promise.all([read(relations), read(sources)]);
  const found = rows.map(([oid, schema, name, showsAll, columns, numbers, readable]) => {
    const names: string[] = JSON.parse(columns ?? "[]");
    const mayRead: boolean[] = JSON.parse(readable ?? "[]");
    return {
      oid: oid ?? "",
      schema: schema ?? "",
      name: name ?? "",
      // of a view with the reader's own rights PostgreSQL itself refuses the columns
      hasOwnersRights: showsAll === "t",
      columns: names,
      numbers: (JSON.parse(numbers ?? "[]") as number[]).map(String),
      mayRead: names.filter((_, index) => mayRead[index]),
    };
  });
  const byOid = new Map(found.map((relation) => [relation.oid, relation]));
  const columnsOf = Map.groupBy(dependencies, ([view]) => view ?? "");

  function shown(oid: string, seen: ReadonlySet<string> = new Set()): string[] {
    if (seen.has(oid)) return [];
    return (columnsOf.get(oid) ?? []).flatMap(([, source = "", number]) => {
      const from = byOid.get(source ?? "");
      const column = from?.columns[from.numbers.indexOf(number ?? "")];
      if (from === undefined || column === undefined) return [];
      const own = isExcluded(from, column) ? [`${from.schema}.${from.name}.${column}`] : [];
      return [...own, ...shown(from.oid, new Set([...seen, oid]))];
    });
  }
  return found.map(({ oid, schema, name, hasOwnersRights, columns, mayRead }) => ({
    schema,
    name,
    columns,
    excluded: columns.filter((column) => isExcluded({ schema, name }, column)),
    shows: hasOwnersRights ? [...new Set(shown(oid))] : [],
    mayRead,
  }));
}

/** What the server reads of a database for an operator. Throws as {@linkcode readRelations}. */
export async function readOwn(database: Database, sql: string, signal: AbortSignal): Promise<readonly Row[]> {
  const result = await database.read({ principal: serverItself, trusted: true, sql, signal });
  if (result.ok) return result.rows;
  throw new AppError("upstream", `Cannot read from database "${database.name}": ${result.error.message}`);
}
