import type { TestDatabase } from "../support/database.ts";

/** All that was made in a database, in SQL or close to it, but for what belongs to extensions; in a fixed order. */
export async function describeSchemas(database: TestDatabase): Promise<string> {
  const rows = await database.query(describeSql);
  return rows.map(([line]) => `${line}\n`).join("");
}

const isOwn = (catalog: string, schema: string) => `
  ${schema} !~ '^pg_' AND ${schema} <> 'information_schema' AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = '${catalog}'::regclass AND d.objid = o.oid AND d.deptype = 'e')`;

const describeSql = `
  SELECT line FROM (
    SELECT 1 AS part, format('SCHEMA %I', o.nspname) || coalesce(' ACL ' || o.nspacl::text, '') AS line
    FROM pg_namespace o WHERE o.nspname <> 'public' AND ${isOwn("pg_namespace", "o.nspname")}
    UNION ALL
    SELECT 2, format('%s %s %I.%I (%s)', o.relkind, o.relpersistence, n.nspname, o.relname,
        (SELECT string_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
            CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(e.adbin, e.adrelid),
            'IDENTITY ' || nullif(a.attidentity::text, ''),
            CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || a.attstorage::text END), ', ' ORDER BY a.attnum)
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
          LEFT JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
          WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped))
      || coalesce(' WITH ' || o.reloptions::text, '') || 
      -- PostgreSQL 17 has one right more
      coalesce(' ACL ' || replace(o.relacl::text, 'arwdDxtm', 'arwdDxt'), '')
    FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace
    WHERE o.relkind IN ('r', 'p', 'v', 'm') AND ${isOwn("pg_class", "n.nspname")}
    UNION ALL
    SELECT 3, format('CONSTRAINT %s %I %s', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid))
    FROM pg_constraint o JOIN pg_namespace n ON n.oid = o.connamespace
    WHERE o.conrelid <> 0 AND o.contype <> 'n' AND ${isOwn("pg_constraint", "n.nspname")}
    UNION ALL
    SELECT 4, pg_get_indexdef(o.oid) FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace
    WHERE o.relkind IN ('i', 'I') AND ${isOwn("pg_class", "n.nspname")}
    UNION ALL
    SELECT 5, pg_get_functiondef(o.oid) || coalesce('ACL ' || o.proacl::text, '')
    FROM pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace
    WHERE o.prokind IN ('f', 'p') AND ${isOwn("pg_proc", "n.nspname")}
    UNION ALL
    SELECT 6, pg_get_triggerdef(o.oid) FROM pg_trigger o JOIN pg_class c ON c.oid = o.tgrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT o.tgisinternal AND ${isOwn("pg_trigger", "n.nspname")}
  ) described ORDER BY part, line COLLATE "C"`;
