import { literalSql, quoteLiteral, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { impactSql, inverseFrequencySql } from "./bm25.ts";
import type { KeywordQuestion, PlainText } from "./keyword_index.ts";
import { vectorSql } from "./term_sql.ts";

/** Rows with any word that are read. Where more have one, the best may not be among them. */
const matchesAtMost = 10_000;

/**
 * Ranks by BM25 what has any of the question's words, with no index by relevance. Its cost grows with the corpus: with a
 * GIN index with the number of matches, up to a bound, and without one with all texts, each of which is analysed anew.
 * Exact while the bound is not met; beyond it the matches stand for the corpus.
 */
export function plainTextSql(source: PlainText, { question, limit, filter }: KeywordQuestion): SqlText {
  const config = quoteLiteral(source.config);
  return sql`WITH words AS MATERIALIZED (
    SELECT u.lexeme, coalesce(cardinality(u.positions), 1) AS count
    FROM (SELECT ${question}::text AS text) q CROSS JOIN LATERAL unnest(${
    verbatim(vectorSql("q.text", config))
  }) u ORDER BY u.positions[1] LIMIT 64
  ), matches AS MATERIALIZED (
    SELECT v.key, v.vector FROM (${vectorsSql(source, config, filter)}) v
    WHERE v.vector @@ (SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery FROM words)
    LIMIT ${verbatim(`${matchesAtMost}`)}
  ), counts AS MATERIALIZED (
    SELECT m.key, u.lexeme, coalesce(cardinality(u.positions), 1)::float8 AS count,
      sum(coalesce(cardinality(u.positions), 1)) OVER (PARTITION BY m.key) AS length
    FROM matches m CROSS JOIN LATERAL unnest(m.vector) u
  ), statistics AS MATERIALIZED (
    SELECT greatest(m.documents, CASE WHEN m.documents < ${verbatim(`${matchesAtMost}`)} THEN
        (SELECT sum(reltuples) FROM pg_partition_tree(${
    literalSql(source.table)
  }::regclass) t JOIN pg_class c ON c.oid = t.relid) END)::float8
        AS documents, l.average_length
    FROM (SELECT count(*) AS documents FROM matches) m
    CROSS JOIN (SELECT sum(count) / greatest(count(DISTINCT key), 1) AS average_length FROM counts) l
  ), frequencies AS MATERIALIZED (
    SELECT c.lexeme, count(*) AS df FROM counts c JOIN words USING (lexeme) GROUP BY 1
  )
  SELECT c.key::text AS id, sum(w.count * ${verbatim(inverseFrequencySql("s.documents", "f.df"))} * ${
    verbatim(impactSql("c.count", "c.length", "s.average_length"))
  })::float8 AS score
  FROM counts c JOIN words w USING (lexeme) JOIN frequencies f USING (lexeme) CROSS JOIN statistics s
  GROUP BY c.key ORDER BY score DESC, c.key LIMIT ${verbatim(`${limit}`)}`;
}

/** The words of each row that a filter lets through, as rows of `key` and `vector`. */
function vectorsSql(source: PlainText, config: string, filter: SqlText | undefined): SqlText {
  const vector = source.vector ?? vectorSql(`source.${source.textColumn}::text`, config);
  return sql`SELECT source.${verbatim(source.idColumn)} AS key, ${verbatim(vector)} AS vector
    FROM ${verbatim(source.table)} AS source WHERE (${filter ?? verbatim("true")})${
    // a text is analysed once; an index is found only without
    verbatim(source.vector === undefined ? " OFFSET 0" : "")}`;
}
