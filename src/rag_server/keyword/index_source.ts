import { AppError } from "../../core/app_error.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";
import { nameInMessage, quoteIdentifier, quoteLiteral } from "../../postgres/sql_text.ts";

/** The table and columns that an index is made for; names as they are, not quoted. */
export interface KeywordIndexRequest {
  /** As in a FROM clause: `docs`, `app.docs`, `"Odd Name"`. */
  readonly table: string;
  readonly textColumn: string;
  readonly idColumn: string;
  /** A text search configuration; `english` where there is none. */
  readonly config?: string;
  /** A column that holds each row's own configuration, by name. */
  readonly configColumn?: string;
  /** Whether parts of words are found. Optional; the default follows the configuration. */
  readonly grams?: boolean;
}

/** The source as an index knows it; names are quoted as SQL needs them. */
export interface IndexSource {
  readonly oid: number;
  /** Qualified. */
  readonly table: string;
  readonly textColumn: string;
  readonly idColumn: string;
  /** The id's type, as SQL. */
  readonly keyType: string;
  /** Qualified. */
  readonly config: string;
  /** The column that names each row's configuration; a row with an unknown name uses `config`. */
  readonly configColumn: string | undefined;
  readonly hasRowSecurity: boolean;
  /** Whether parts of words are found. */
  readonly grams: boolean;
}

/**
 * Looks at a table and says what an index needs to know.
 *
 * @throws {AppError} `invalid` for what cannot be indexed, and why
 */
export async function inspectSource(session: SqlSession, request: KeywordIndexRequest): Promise<IndexSource> {
  const { table, textColumn, idColumn, config = "english", configColumn } = request;
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot index the keywords of ${nameInMessage(table)}: ${reason}`);
  const [found] = await session.query(relationSql, [table]);
  const [oid, name, kind, rowSecurity] = found ?? [];
  if (!oid || !name) throw fail("there is no such table");
  if (kind !== "r" && kind !== "p") throw fail("it is not a table");
  const columns = await session.query(columnSql, [oid]);
  const typeOf = (column: string) => columns.find(([candidate]) => candidate === column)?.[1];
  for (const column of [textColumn, idColumn, ...(configColumn === undefined ? [] : [configColumn])]) {
    if (!typeOf(column)) throw fail(`it has no column "${column}"`);
  }
  const [unique] = await session.query(uniqueSql, [oid, idColumn, kind]);
  if (unique === undefined) throw fail(`no primary key or unique index begins with "${idColumn}" alone`);
  const [configName] = (await session.query(configNameSql("$1"), [config]))[0] ?? [];
  if (!configName) throw fail(`there is no text search configuration "${config}"`);
  return {
    oid: Number(oid),
    table: name,
    textColumn: quoteIdentifier(textColumn),
    idColumn: quoteIdentifier(idColumn),
    keyType: typeOf(idColumn) ?? "",
    config: configName,
    configColumn: configColumn === undefined ? undefined : quoteIdentifier(configColumn),
    hasRowSecurity: rowSecurity === "t",
    grams: request.grams ?? joiningConfigs.test(configName),
  };
}

const relationSql = `SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind, c.relrowsecurity
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`;

const columnSql = `SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`;

// a partitioned table's unique index must hold the partition key too
const uniqueSql = `SELECT 1 FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
    AND a.attname = $2 AND (i.indnkeyatts = 1 OR $3 = 'p')
  LIMIT 1`;

/**
 * Configurations in which parts of words find more: those of languages that join words or endings, and the one without
 * stems. On 1,190 questions of XQuAD, nDCG@10 gains .012 in German, and a third of them .013 in Turkish, .012 in Greek, .025 and
 * .040 in German and Turkish as `simple`; but .002 in Spanish, and nothing on Cranfield.
 */
const joiningConfigs = /danish|dutch|finnish|german|greek|hungarian|norwegian|swedish|turkish|simple/;

/**
 * The configuration of a row, as SQL for a qualified name.
 *
 * @param name what the row calls it, as SQL
 */
export function rowConfigSql({ config, configColumn }: IndexSource, name: string): string {
  const fallback = `${quoteLiteral(config)}::text`;
  return configColumn === undefined ? fallback : `coalesce((${configNameSql(name)}), ${fallback})`;
}

function configNameSql(name: string): string {
  return `SELECT format('%I.%I', n.nspname, c.cfgname)
    FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
    WHERE lower(${name}) IN (c.cfgname, n.nspname || '.' || c.cfgname)
    ORDER BY n.nspname <> 'pg_catalog', n.nspname LIMIT 1`;
}

/** The text of a row `s` of the source and the name of its configuration, as SQL for two columns. */
export function textAndConfigSql(source: IndexSource): string {
  const config = rowConfigSql(source, `s.${source.configColumn}::text`);
  return `s.${source.textColumn}::text AS text, ${config} AS config`;
}

/**
 * SQL for whether the source's id is still of the type, length and collation that an index keeps its keys in. All three
 * are SQL: the source's oid, the id column's name as a text, and the oid of the index's documents.
 */
export function keyMatchesSql(source: string, idColumn: string, documents: string): string {
  return `EXISTS (SELECT FROM pg_attribute s JOIN pg_attribute k USING (atttypid, atttypmod, attcollation)
    WHERE s.attrelid = ${source} AND s.attname = ${idColumn} AND NOT s.attisdropped
      AND k.attrelid = ${documents} AND k.attname = 'key')`;
}
