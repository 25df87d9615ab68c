import { readRows } from "../read/read_trusted.ts";
import type { ColumnRefusal } from "../catalog/private_columns.ts";
import type { Database } from "../database.ts";
import type { Row } from "../read/portal.ts";
import { stateSchema } from "../own_schema.ts";

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
  c.relkind IN ('v', 'm') AND NOT EXISTS (SELECT FROM unnest(c.reloptions) o
    WHERE o ~* '^security_invoker=(t|tr|tru|true|on|y|ye|yes|1)$'),
  array_to_json(array_agg(a.attname ORDER BY a.attnum)),
  array_to_json(array_agg(a.attnum ORDER BY a.attnum)),
  array_to_json(array_agg(
    has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
  AND n.nspname NOT IN ('information_schema', '${stateSchema}')
GROUP BY c.oid, n.oid, n.nspname, c.relname, c.relkind, c.reloptions
ORDER BY n.nspname, c.relname`;

/**
 * Which columns a view is made of; 0: all. Of a whole row, such as in `row_to_json(t)`, PostgreSQL notes no column: only the
 * view's own tree tells of a variable with the table's type, or of a record (2249) where there is a join (kind 2).
 */
const sources = `
SELECT DISTINCT r.ev_class, d.refobjid, CASE WHEN w.is_whole THEN 0 ELSE d.refobjsubid END
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
  AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class
JOIN pg_catalog.pg_class s ON s.oid = d.refobjid
CROSS JOIN LATERAL (SELECT r.ev_action::text LIKE '%:varattno 0 :vartype ' || s.reltype || ' %'
  OR r.ev_action::text LIKE '%:varattno 0 :vartype 2249 %' AND r.ev_action::text LIKE '%:rtekind 2 %') AS w (is_whole)
WHERE d.refobjsubid > 0 OR w.is_whole`;

/** Partitions and what inherits, with what they are a part of: it has the same columns. */
const parents = "SELECT inhrelid, inhparent FROM pg_catalog.pg_inherits";

/** Generated columns, with those that they are made from. PostgreSQL before 15 notes it of the column. */
const origins = `
SELECT a.attrelid, a.attname, s.attname
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = a.attrelid
  AND (d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = e.oid
    OR d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = a.attrelid AND d.objsubid = a.attnum)
JOIN pg_catalog.pg_attribute s ON s.attrelid = a.attrelid AND s.attnum = d.refobjsubid AND s.attnum <> a.attnum
WHERE a.attgenerated <> ''`;

/**
 * The tables and views of a database, in the order of their names. A column of a partition is excluded where that of its
 * table is, and a generated one where one that it is made from is.
 *
 * @param role in place of the database's own, which must be a member of it
 * @throws {AppError} `unavailable` where it cannot be reached, `upstream` where it refuses
 */
export async function readRelations(
  database: Database,
  isExcluded: ColumnRefusal,
  signal: AbortSignal,
  role?: string,
): Promise<readonly ReadableRelation[]> {
  const questions = [relations, sources, parents, origins];
  const [rows = [], dependencies = [], inherited = [], generated = []] = await Promise.all(
    questions.map((sql) => readAsRole(database, sql, signal, role)),
  );
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
  const parentsOf = Map.groupBy(inherited, ([part]) => part ?? "");
  const originsOf = Map.groupBy(generated, ([oid]) => oid ?? "");

  function isLeftOut(relation: typeof found[number], column: string): boolean {
    return isExcluded(relation, column) ||
      (originsOf.get(relation.oid) ?? []).some(([, made, from]) =>
        made === column && isLeftOut(relation, from ?? "")
      ) ||
      (parentsOf.get(relation.oid) ?? []).some(([, parent]) => {
        const whole = byOid.get(parent ?? "");
        return whole !== undefined && isLeftOut(whole, column);
      });
  }

  function shown(oid: string, seen: ReadonlySet<string> = new Set()): string[] {
    if (seen.has(oid)) return [];
    return (columnsOf.get(oid) ?? []).flatMap(([, source = "", number]) => {
      const from = byOid.get(source ?? "");
      if (from === undefined) return [];
      const own = from.columns.filter((column, index) =>
        (number === "0" || from.numbers[index] === number) && isLeftOut(from, column)
      );
      const path = `${from.schema}.${from.name}`;
      return [...own.map((column) => `${path}.${column}`), ...shown(from.oid, new Set([...seen, oid]))];
    });
  }
  return found.map((relation) => {
    const { oid, schema, name, hasOwnersRights, columns, mayRead } = relation;
    const excluded = columns.filter((column) => isLeftOut(relation, column));
    const shows = hasOwnersRights ? [...new Set(shown(oid))] : [];
    return { schema, name, columns, excluded, shows, mayRead };
  });
}

/** What the server reads of a database for an operator, as `role` where it is given. Throws as {@linkcode readRelations}. */
export function readAsRole(
  database: Database,
  sql: string,
  signal: AbortSignal,
  role?: string,
): Promise<readonly Row[]> {
  return readRows(database, signal, sql, [], role === undefined ? {} : { settings: { role } });
}
