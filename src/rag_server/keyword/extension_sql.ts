import { literalSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import type { KeywordQuestion, PgSearchIndex, TextSearchIndex, VchordIndex } from "./keyword_index.ts";

/**
 * Ranks with pg_textsearch (github.com/timescale/pg_textsearch): `<@>` gives the negative score, so that an ascending
 * index scan finds the best first; what has none of the words gets 0.
 */
export function textSearchSql(index: TextSearchIndex, { question, limit, filter }: KeywordQuestion): SqlText {
  const query = sql`${verbatim(`${index.schema}.to_bm25query`)}(${question}, ${literalSql(index.index)})`;
  const distance = sql`source.${verbatim(index.textColumn)} OPERATOR(${verbatim(index.schema)}.<@>) ${query}`;
  return nearestSql(index, distance, { limit, ...(filter !== undefined && { filter }) });
}

/**
 * Ranks with vchord_bm25 (github.com/tensorchord/VectorChord-bm25): the question is tokenized as the indexed vectors
 * were, and `<&>` gives the negative score.
 */
export function vchordSql(index: VchordIndex, { question, limit, filter }: KeywordQuestion): SqlText {
  const tokens = sql`tokenizer_catalog.tokenize(${question}, ${
    literalSql(index.tokenizer)
  })::bm25_catalog.bm25vector`;
  const distance = sql`source.${
    verbatim(index.vectorColumn)
  } OPERATOR(bm25_catalog.<&>) bm25_catalog.to_bm25query(${literalSql(index.index)}::regclass, ${tokens})`;
  return nearestSql(index, distance, { limit, ...(filter !== undefined && { filter }) });
}

function nearestSql(
  { table, idColumn }: { readonly table: string; readonly idColumn: string },
  distance: SqlText,
  { limit, filter = verbatim("true") }: Omit<KeywordQuestion, "question">,
): SqlText {
  // the index serves an ORDER BY of the operator alone; ties are put in order among the rows that it gave
  return sql`SELECT r.key::text AS id, r.score FROM (
    SELECT source.${verbatim(idColumn)} AS key, -(${distance})::float8 AS score
    FROM ${verbatim(table)} AS source WHERE (${filter}) ORDER BY ${distance} LIMIT ${verbatim(`${limit}`)}
  ) r WHERE r.score > 0 ORDER BY r.score DESC, r.key`;
}

/**
 * Ranks with pg_search (docs.paradedb.com): `|||` matches any word of a text that it tokenizes as the column was. Older
 * versions have `paradedb.match` instead.
 */
export function pgSearchSql(index: PgSearchIndex, { question, limit, filter }: KeywordQuestion): SqlText {
  const key = verbatim(`source.${index.keyField}`);
  const matches = index.hasMatchOperator
    ? sql`source.${verbatim(index.textColumn)} ||| ${question}::text`
    : sql`${key} @@@ paradedb.match(${literalSql(index.field)}, ${question}::text)`;
  const score = index.hasMatchOperator ? sql`pdb.score(${key})` : sql`paradedb.score(${key})`;
  return sql`SELECT r.key::text AS id, r.score FROM (
    SELECT source.${verbatim(index.idColumn)} AS key, ${score}::float8 AS score
    FROM ${verbatim(index.table)} AS source WHERE ${matches} AND (${filter ?? verbatim("true")})
    ORDER BY ${score} DESC LIMIT ${verbatim(`${limit}`)}
  ) r ORDER BY r.score DESC, r.key`;
}
