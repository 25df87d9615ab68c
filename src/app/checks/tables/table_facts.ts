import { AppError } from "../../../core/app_error.ts";
import type { Database } from "../../../postgres/database.ts";
import { quoteIdentifier, quoteParts } from "../../../postgres/sql_text.ts";
import { rowsSql } from "../../../rag_server/search/document_table.ts";
import { belowBasesSql } from "../../../rag_server/search/vector_index.ts";
import { readJson } from "../../../postgres/read/read_trusted.ts";

export interface ColumnFacts {
  readonly name: string;
  /** As SQL, with its modifier. */
  readonly type: string;
  /** The type's bare name, whatever its schema. */
  readonly typeName: string;
  readonly isText: boolean;
  /** Whether its type is a domain: another type with conditions. */
  readonly isDomain: boolean;
  readonly isReadable: boolean;
}

/** What the catalog says of a table or view. Names are quoted for SQL. */
export interface TableFacts {
  readonly oid: string;
  /** Qualified. */
  readonly relation: string;
  /** `pg_class.relkind` */
  readonly kind: string;
  readonly schema: string;
  readonly mayUseSchema: boolean;
  readonly role: string;
  readonly columns: readonly ColumnFacts[];
  readonly hasPrimaryKey: boolean;
  /** The table that holds the rows: of a view, the one below it. */
  readonly base: { readonly relation: string; readonly kind: string } | null;
  /** As `rowsSql` reckons. */
  readonly rows: number;
}

/** Facts of a table as it is configured, its name tried as it is written first; undefined where there is none. */
export async function readTableFacts(
  database: Database,
  table: string,
  signal: AbortSignal,
): Promise<TableFacts | undefined> {
  const exact = quoteParts(table);
  for (const candidate of table.includes('"') ? [table] : [exact, table]) {
    const facts = await readJson<TableFacts>(database, signal, factsSql, [candidate]).catch((thrown) => {
      if (isNoName(thrown)) return undefined;
      throw thrown;
    });
    if (facts !== undefined) return facts;
  }
  return undefined;
}

// 22023: it does not parse as a name
function isNoName(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.data?.["sqlState"] === "22023";
}

// by the catalog rather than to_regclass(), which fails for a schema that the role may not use
const factsSql = `WITH RECURSIVE given AS (SELECT parse_ident($1) AS parts), named AS (
  SELECT c.oid, c.relname, c.relkind, n.oid AS schema, n.nspname
  FROM given CROSS JOIN pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relname = parts[cardinality(parts)] AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND CASE cardinality(parts) WHEN 1 THEN pg_table_is_visible(c.oid) ELSE n.nspname = parts[1] AND cardinality(parts) = 2 END
), bases(oid) AS (
  SELECT oid FROM named
  UNION
  ${belowBasesSql}
), stored AS (
  SELECT c.*, n.nspname FROM bases JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm')
)
SELECT json_build_object(
  'oid', c.oid::text, 'relation', format('%I.%I', c.nspname, c.relname), 'kind', c.relkind,
  'schema', quote_ident(c.nspname), 'mayUseSchema', has_schema_privilege(c.schema, 'USAGE'),
  'role', quote_ident(current_user),
  'hasPrimaryKey', EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
  'columns', (SELECT coalesce(json_agg(json_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'typeName', t.typname,
      'isText', t.typcategory = 'S', 'isDomain', t.typtype = 'd',
      'isReadable', has_column_privilege(c.oid, a.attnum, 'SELECT')) ORDER BY a.attnum), '[]')
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  'base', (SELECT CASE WHEN count(*) = 1 THEN min(json_build_object(
      'relation', format('%I.%I', s.nspname, s.relname), 'kind', s.relkind)::text)::json END
    FROM stored s WHERE NOT s.relispartition OR s.oid = c.oid),
  'rows', (SELECT coalesce(ceil(sum(${rowsSql})), 0)::bigint FROM stored c WHERE c.relkind <> 'p'))
FROM named c LIMIT 1`;

/** A table's name for SQL, its schema as well where it has one. */
export interface RelationName {
  readonly relation: string;
  readonly schema?: string;
}

const part = /"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/u.source;
const quoted = new RegExp(`^(?:(${part})\\.)?(${part})$`, "u");

/** A name as it is configured, quoted where it is not yet; undefined where it is the name of no table. */
export function relationName(table: string): RelationName | undefined {
  const parts = table.includes('"')
    ? quoted.exec(table)?.slice(1).filter((part) => part !== undefined)
    : table.split(".").map(quoteIdentifier);
  if (parts === undefined || parts.length > 2 || parts.includes('""')) return undefined;
  const [first = "", second] = parts;
  return second === undefined ? { relation: first } : { relation: `${first}.${second}`, schema: first };
}
