import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import { readJson } from "../../postgres/read/read_trusted.ts";
import { nameInMessage, quoteIdentifier, quoteLiteral } from "../../postgres/sql_text.ts";
import { indexFormat, indexTable } from "./index_record.ts";
import { keyMatchesSql } from "./index_source.ts";

/** The means to rank a table's rows by the words of a question. Names are quoted for SQL. */
export type KeywordIndex = OwnIndex | TextSearchIndex | PgSearchIndex | VchordIndex | PlainText;

interface KeywordSource {
  /** Qualified. */
  readonly table: string;
  readonly idColumn: string;
  readonly textColumn: string;
}

/** Postern's own. */
export interface OwnIndex extends KeywordSource {
  readonly kind: "postern";
  readonly id: number;
  /** The text search configuration, with its schema; undefined where each row has its own. */
  readonly config: string | undefined;
  /** Whether an index serves to look up ids under a policy: not where their `=` could tell of values, as numeric's. */
  readonly hasLeakproofKey: boolean;
  /** Whether parts of words are among its terms. */
  readonly grams: boolean;
  /** Documents at the last refresh. */
  readonly documents: number;
  /** The share of the documents that came or went since, as far as the planner's statistics tell; from 0. */
  readonly staleness: number;
}

/** An index of the extension pg_textsearch. */
export interface TextSearchIndex extends KeywordSource {
  readonly kind: "pg_textsearch";
  /** The extension's. */
  readonly schema: string;
  /** Qualified. */
  readonly index: string;
}

/** An index of the extension pg_search. */
export interface PgSearchIndex extends KeywordSource {
  readonly kind: "pg_search";
  /** The column that the index knows its rows by. */
  readonly keyField: string;
  /** The text column's name as the index has it, not quoted. */
  readonly field: string;
  /** Whether the extension has the operators of its second interface (`|||`, `pdb.score`). */
  readonly hasMatchOperator: boolean;
}

/** An index of the extension vchord_bm25. */
export interface VchordIndex extends KeywordSource {
  readonly kind: "vchord_bm25";
  readonly index: string;
  readonly vectorColumn: string;
  readonly tokenizer: string;
}

/** No index by relevance: what matches any word is ranked when it is asked for. */
export interface PlainText extends KeywordSource {
  readonly kind: "tsvector";
  readonly config: string;
  /** A `tsvector` column of the text, or the expression that a GIN index holds; undefined where there is none. */
  readonly vector: string | undefined;
  /** Whether callers have rows of their own, so that words weigh what they do in those. */
  readonly isOfCallers?: true;
}

export interface FindKeywordIndexOptions {
  /** As in a FROM clause. */
  readonly table: string;
  readonly textColumn: string;
  readonly idColumn: string;
  /** For a table without an index by relevance; `english` where there is none. */
  readonly config?: string;
  /** Whether callers have rows of their own; no where absent. Then no index of all rows will do. */
  readonly isOfCallers?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Finds the best means to rank a table's rows by words: an index of an installed BM25 extension on the column, Postern's
 * own, or what PostgreSQL has by itself.
 *
 * @throws {AppError} `not_found` where there is no such table or column, `upstream` where the catalog cannot be read,
 * `unavailable` where the database cannot be reached
 */
export async function findKeywordIndex(
  database: Database,
  options: FindKeywordIndexOptions,
): Promise<KeywordIndex> {
  const { table, textColumn, idColumn, isOfCallers = false } = options;
  const read = <T>(sql: string, parameters: readonly string[]) =>
    readJson<T>(database, options.signal, sql, parameters);
  const absent = (reason: string) =>
    new AppError("not_found", `Cannot rank ${nameInMessage(table)} by keywords: ${reason}`);
  const facts = await read<TableFacts>(factsSql, [table, textColumn, idColumn]);
  if (facts === undefined) throw absent("there is no such table");
  for (const [name, exists] of [[textColumn, facts.hasText], [idColumn, facts.hasId]] as const) {
    if (!exists) throw absent(`it has no column "${name}"`);
  }
  const source = {
    table: facts.name,
    idColumn: quoteIdentifier(idColumn),
    textColumn: quoteIdentifier(textColumn),
  };
  const config = options.config ?? "english";
  if (isOfCallers) {
    // PostgreSQL asks a policy before an index over words, so an expression is worked out for each row again
    const vectors = facts.vectors.filter(({ expression }) => expression.startsWith("source."));
    const text = textVector({ ...facts, vectors }, textColumn, config);
    return { kind: "tsvector", ...source, ...text, isOfCallers: true };
  }
  const readTokenizers = () => read<string[]>(tokenizerSql, []);
  const extension = await extensionIndex(facts, source, textColumn, readTokenizers);
  if (extension !== undefined) return extension;
  // it tells of all rows, so it is closed to whom policies hold
  const own = facts.hasOwnIndexes && !facts.hasRowSecurity
    ? await read<OwnFacts>(ownSql, [facts.oid, textColumn, idColumn])
    : undefined;
  if (own !== undefined) return { kind: "postern", ...source, ...own };
  return { kind: "tsvector", ...source, ...textVector(facts, textColumn, config) };
}

interface TableFacts {
  readonly oid: string;
  readonly name: string;
  readonly hasText: boolean;
  readonly hasId: boolean;
  readonly hasRowSecurity: boolean;
  readonly hasOwnIndexes: boolean;
  readonly hasMatchOperator: boolean;
  readonly relevanceIndexes: readonly RelevanceIndex[];
  readonly vectors: readonly { readonly expression: string; readonly definition: string }[];
}

interface RelevanceIndex {
  readonly name: string;
  readonly extension: string;
  readonly schema: string;
  readonly columns: readonly string[];
  readonly options: readonly string[];
}

type OwnFacts = Pick<OwnIndex, "id" | "config" | "grams" | "hasLeakproofKey" | "documents" | "staleness">;

async function extensionIndex(
  facts: TableFacts,
  source: KeywordSource,
  textColumn: string,
  readTokenizers: () => Promise<string[] | undefined>,
): Promise<KeywordIndex | undefined> {
  for (const { name, extension, schema, columns, options } of facts.relevanceIndexes) {
    if (extension === "pg_textsearch" && columns[0] === textColumn) {
      return { kind: "pg_textsearch", ...source, index: name, schema };
    }
    const keyField = options.find((option) => option.startsWith("key_field="))?.slice("key_field=".length);
    if (extension === "pg_search" && columns.includes(textColumn) && keyField !== undefined) {
      const { hasMatchOperator } = facts;
      const field = textColumn;
      return { kind: "pg_search", ...source, keyField: quoteIdentifier(keyField), field, hasMatchOperator };
    }
    if (extension === "vchord_bm25" && columns[0] !== undefined) {
      // which tokenizer made the vectors is written nowhere, so it is known only where there is one
      const [tokenizer, other] = (await readTokenizers()) ?? [];
      if (tokenizer === undefined || other !== undefined) continue;
      const vectorColumn = quoteIdentifier(columns[0]);
      return { kind: "vchord_bm25", ...source, index: name, vectorColumn, tokenizer };
    }
  }
  return undefined;
}

/** The vector of the text that a GIN index holds, with the configuration that made it. */
function textVector(
  facts: TableFacts,
  textColumn: string,
  config: string,
): { readonly config: string; readonly vector: string | undefined } {
  for (const { expression, definition } of facts.vectors) {
    const made = /to_tsvector\('([^']+)'::regconfig, (.*)\)/s.exec(definition);
    if (made?.[1] !== undefined && made[2]?.includes(textColumn)) {
      return { config: made[1], vector: expression };
    }
  }
  return { config, vector: undefined };
}

/**
 * SQL for whether the role may read a table; no row where there is none. It asks the catalog, since a name cannot be
 * resolved in a schema that the role may not use.
 *
 * @param table qualified, not quoted
 */
export function mayReadSql(table: string): string {
  const [schema = "", name = ""] = table.split(".");
  return `SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ${quoteLiteral(schema)} AND c.relname = ${quoteLiteral(name)}`;
}

// One row of JSON. The names in pg_catalog need no qualification: it is searched first unless a role was set up to
// hide it.
const factsSql = `SELECT json_build_object(
  'oid', c.oid::text,
  'name', format('%I.%I', n.nspname, c.relname),
  'hasText', EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = $2 AND attnum > 0),
  'hasId', EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = $3 AND attnum > 0),
  'hasRowSecurity', row_security_active(c.oid),
  'hasOwnIndexes', coalesce((${mayReadSql(indexTable)}), false),
  'hasMatchOperator', EXISTS (SELECT FROM pg_operator WHERE oprname = '|||'),
  'relevanceIndexes', (SELECT coalesce(json_agg(json_build_object(
      'name', format('%I.%I', xn.nspname, x.relname), 'extension', e.extname, 'schema', quote_ident(en.nspname),
      'options', coalesce(to_json(x.reloptions), '[]'),
      'columns', (SELECT coalesce(json_agg(a.attname ORDER BY k.place), '[]')
        FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum)) ORDER BY x.relname), '[]')
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace xn ON xn.oid = x.relnamespace
    JOIN pg_depend d ON d.classid = 'pg_am'::regclass AND d.objid = x.relam AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid JOIN pg_namespace en ON en.oid = e.extnamespace
    WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL),
  'vectors', (SELECT coalesce(json_agg(v ORDER BY v.expression), '[]') FROM (
    SELECT CASE WHEN i.indkey[0] = 0 THEN pg_get_indexdef(i.indexrelid, 1, false) ELSE 'source.' || quote_ident(a.attname) END
      AS expression,
      coalesce(CASE WHEN i.indkey[0] = 0 THEN pg_get_indexdef(i.indexrelid, 1, false)
        ELSE pg_get_expr(g.adbin, g.adrelid) END, '') AS definition
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam AND m.amname = 'gin'
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attnum > 0
    LEFT JOIN pg_attrdef g ON g.adrelid = a.attrelid AND g.adnum = a.attnum AND a.attgenerated <> ''
    WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL) v))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p', 'm', 'v', 'f')`;

const tokenizerSql = `SELECT json_agg(name ORDER BY name) FROM tokenizer_catalog.tokenizer`;

// estimates the rows inserted and deleted since: the difference of the two counts, and the recent ones
const ownSql = `SELECT json_strip_nulls(json_build_object(
  'id', i.id, 'config', CASE WHEN i.config_column IS NULL THEN i.config END, 'grams', i.grams,
  'hasLeakproofKey', EXISTS (SELECT FROM pg_attribute k
    JOIN pg_operator o ON o.oprleft = CASE k.atttypid WHEN 'varchar'::regtype THEN 'text'::regtype ELSE k.atttypid END
    JOIN pg_proc p ON p.oid = o.oprcode AND p.proleakproof
    WHERE k.attrelid = c.oid AND k.attname = 'key' AND o.oprname = '=' AND o.oprright = o.oprleft),
  'documents', i.documents,
  'staleness', abs(greatest(c.reltuples, 0) - i.documents) / greatest(i.documents, 1)))
FROM ${indexTable} i
JOIN pg_class c ON c.oid = to_regclass('postern.keyword_' || i.id || '_documents')
WHERE i.source = $1::oid AND i.text_column = $2 AND i.id_column = $3
  AND i.state = 'ready' AND i.format = ${indexFormat}
  AND has_table_privilege(c.oid, 'SELECT')
  AND ${keyMatchesSql("i.source", "i.id_column", "c.oid")}`;
