import { AppError } from "../../core/app_error.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import type { IndexSource } from "./index_objects.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";

/** What an index is made for; names as they are, not quoted. */
export interface KeywordIndexRequest {
  /** As in a FROM clause: `docs`, `app.docs`, `"Odd Name"`. */
  readonly table: string;
  readonly textColumn: string;
  readonly idColumn: string;
  /** A text search configuration; `english` where there is none. */
  readonly config?: string;
  /** A column that holds each row's own configuration, by name. */
  readonly configColumn?: string;
}

export interface SourceFacts {
  readonly oid: number;
  readonly source: IndexSource;
  /** The id's type, as SQL. */
  readonly keyType: string;
  /** The planner's guess; 0 where it has none. */
  readonly estimatedRows: number;
  readonly hasRowSecurity: boolean;
}

/**
 * Looks at a table and says what an index needs to know.
 *
 * @throws {AppError} `invalid` for what cannot be indexed, and why
 */
export async function inspectSource(session: SqlSession, request: KeywordIndexRequest): Promise<SourceFacts> {
  const { table, textColumn, idColumn, config = "english", configColumn } = request;
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot index the keywords of "${table}": ${reason}`);
  const [found] = await session.query(relationSql, [table]);
  const [oid, name, kind, rows, rowSecurity] = found ?? [];
  if (!oid || !name) throw fail("there is no such table");
  if (kind !== "r" && kind !== "p") throw fail("it is not a table");
  const columns = await session.query(columnSql, [oid]);
  const typeOf = (column: string) => columns.find(([candidate]) => candidate === column)?.[1];
  for (const column of [textColumn, idColumn, ...(configColumn === undefined ? [] : [configColumn])]) {
    if (!typeOf(column)) throw fail(`it has no column "${column}"`);
  }
  const [unique] = await session.query(uniqueSql, [oid, idColumn, kind]);
  if (unique === undefined) throw fail(`no primary key or unique index begins with "${idColumn}" alone`);
  const [configName] = (await session.query(configSql, [config]))[0] ?? [];
  if (!configName) throw fail(`there is no text search configuration "${config}"`);
  return {
    oid: Number(oid),
    keyType: typeOf(idColumn) ?? "",
    estimatedRows: Math.max(0, Number(rows)),
    hasRowSecurity: rowSecurity === "t",
    source: {
      table: name,
      textColumn: quoteIdentifier(textColumn),
      idColumn: quoteIdentifier(idColumn),
      config: configName,
      configColumn: configColumn === undefined ? undefined : quoteIdentifier(configColumn),
    },
  };
}

const relationSql = `SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind,
    CASE WHEN c.relkind = 'p'
      THEN (SELECT sum(greatest(l.reltuples, 0)) FROM pg_partition_tree(c.oid) t JOIN pg_class l ON l.oid = t.relid WHERE t.isleaf)
      ELSE c.reltuples END,
    c.relrowsecurity
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`;

const columnSql = `SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`;

// a partitioned table's unique index must hold the partition key too
const uniqueSql = `SELECT 1 FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
    AND a.attname = $2 AND (i.indnkeyatts = 1 OR $3 = 'p')
  LIMIT 1`;

const configSql = `SELECT format('%I.%I', n.nspname, c.cfgname)
  FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
  WHERE lower($1) IN (c.cfgname, n.nspname || '.' || c.cfgname)
  ORDER BY n.nspname <> 'pg_catalog', n.nspname LIMIT 1`;
