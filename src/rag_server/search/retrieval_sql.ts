import { identifierSql, joinSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { phrasesSql } from "../keyword/question_operators.ts";
import { longestAnswer, type SearchByWords } from "../keyword/keyword_search.ts";
import type { Bm25 } from "../keyword/term_sql.ts";
import type { DocumentTable } from "./document_table.ts";
import { agreedSql, agreement, foundSql, fusionSql } from "./fusion.ts";
import { distanceOf, indexFor } from "./vector_index.ts";
import {
  embeddingSql,
  isProbed,
  nearnessSql,
  similaritySql,
  trimmedSql,
  unitSql,
  vectorSearch,
} from "./vector_search.ts";

export interface RetrievalSearch {
  readonly table: DocumentTable;
  /** Without what it excludes, which the filter holds. */
  readonly question: string;
  /** Where documents have them all, only these are found. */
  readonly phrases: readonly string[];
  /** Optional: none where only the words of the question count. */
  readonly embedding: Float32Array | undefined;
  readonly filter: SqlText | undefined;
  /** How far down each search goes. */
  readonly depth: number;
  /** Rows to return. */
  readonly limit: number;
  /** Whether all that the searches find is looked at, not only as much as is returned. */
  readonly isThorough: boolean;
  /** The most characters of each text that is returned. */
  readonly maxCharacters: number;
  /** The weight of the vector search, which is left out at 0. */
  readonly vectorWeight: number;
  /** Optional: none where the words of the question do not count. */
  readonly keywordSearch: SearchByWords | undefined;
  readonly minSimilarity: number | undefined;
  readonly bm25: Bm25 | undefined;
}

/**
 * Both searches, their fusion and the text of what came first, in one statement: `id` (NULL where it means nothing to a
 * client), `content` up to its bound, `digest` of the whole text without the blanks around it, `nearest_score`,
 * `matching_score`, `similarity`, `is_crowded`, `is_ambiguous`, `scores`, `agreed_nearest`, `agreed_matching`; the best
 * first, each text once. Where ids are not unique, a document is the row of its id that is nearest; `is_ambiguous` says
 * that there was such an id and no embedding to choose by. `is_crowded` says that repeats took the room of candidates
 * which were not looked at. The first row's `scores` are JSON: all of the search by vectors, and all of that by words.
 *
 * Where the vectors alone count and all that they find is returned, the rows come in any order, each text as often as it is
 * found; `is_crowded` and `scores`, which the rows tell themselves, are NULL.
 */
export function retrievalSql(search: RetrievalSearch): SqlText {
  const { table, filter, depth, limit, maxCharacters, minSimilarity, vectorWeight, keywordSearch } = search;
  const { key, textColumn, relation } = table;
  const embedding = sql`(SELECT embedding FROM postern_question)`;
  const question = search.embedding && sql`postern_question AS MATERIALIZED (
      SELECT ${embeddingSql(table, search.embedding)} AS embedding
    ),`;
  const similarity = search.embedding && similaritySql(table, embedding, search.embedding.length);
  const isAll = keywordSearch === undefined && !search.isThorough && minSimilarity === undefined &&
    depth <= limit;
  if (isAll && question && similarity && !isProbed(search)) {
    return sql`WITH ${question} ${directSql(search, embedding, similarity)}`;
  }
  const mayBeAmbiguous = search.embedding === undefined && key.isId;
  // where a least similarity may drop some of them, all candidates are looked at
  const areAllSeen = search.isThorough || minSimilarity !== undefined;
  const isAgreed = search.embedding !== undefined && keywordSearch !== undefined && vectorWeight > 0;
  const seen = isAgreed ? Math.max(limit, agreement.documents) : limit;
  const candidates = areAllSeen ? sql`` : sql`LIMIT ${seen}`;
  const unit = isAgreed ? unitSql(table, search.embedding.length) : sql`NULL`;
  const ranked = isAgreed
    ? agreedSql(nearnessSql(table, "one.unit", "other.unit"))
    : sql`SELECT *, NULL AS agreed_nearest, NULL AS agreed_matching, score AS agreed_score FROM postern_distinct`;
  const found = foundSql({ vectorWeight, hasWords: keywordSearch !== undefined, depth });
  // what the vectors alone found has nothing to be made comparable with
  const fused = keywordSearch === undefined
    ? sql`SELECT *, coalesce(nearest_score, '-Infinity') AS score FROM postern_all ORDER BY score DESC, id COLLATE "C"`
    : fusionSql(vectorWeight);
  const least = minSimilarity === undefined ? sql`` : sql`WHERE t.similarity >= ${minSimilarity}::float8`;
  return sql`WITH ${question ?? sql``} ${searchesSql(search, embedding)},
    postern_all AS MATERIALIZED (${found}),
    postern_fused AS MATERIALIZED (${fused} ${candidates}),
    postern_found AS (
      SELECT DISTINCT ON (f.id) f.*, t.content, t.similarity, t.unit,
        ${verbatim(mayBeAmbiguous ? "count(*) OVER (PARTITION BY f.id) > 1" : "false")} AS is_ambiguous
      FROM postern_fused f JOIN (
        SELECT ${identifierSql(key.name)} AS id, ${verbatim(textColumn)}::text AS content,
          ${similarity ?? sql`NULL::float8`} AS similarity, ${unit} AS unit
        FROM ${verbatim(relation)} AS source WHERE ${filter ?? verbatim("true")}
      ) t ON t.id = f.id::${verbatim(key.type)} ${least}
      ORDER BY f.id, t.similarity DESC NULLS LAST
    ), postern_distinct AS MATERIALIZED (
      SELECT DISTINCT ON (digest) * FROM (
        SELECT *, ${digestSql} AS digest FROM postern_found
      ) d ORDER BY digest, score DESC, id COLLATE "C"
    ), postern_ranked AS MATERIALIZED (${ranked})
    SELECT ${verbatim(key.isId ? "id" : "NULL")}, left(content, ${maxCharacters}::int), digest,
      nearest_score, matching_score, similarity,
      (SELECT count(*) FROM postern_fused) >= ${areAllSeen ? depth : seen}
        AND (SELECT count(*) FROM postern_found) > (SELECT count(*) FROM postern_distinct) AS is_crowded, is_ambiguous,
      CASE WHEN row_number() OVER (ORDER BY agreed_score DESC, score DESC, id COLLATE "C") = 1 THEN (
        SELECT json_build_array(json_agg(nearest_score), json_agg(matching_score)) FROM postern_all) END AS scores,
      agreed_nearest, agreed_matching
    FROM postern_ranked ORDER BY agreed_score DESC, score DESC, id COLLATE "C" LIMIT ${limit}`;
}

/** What the vectors alone find. No other search has a say, so each row brings its text along. */
function directSql(search: RetrievalSearch, embedding: SqlText, similarity: SqlText): SqlText {
  const { table, maxCharacters } = search;
  const dimensions = search.embedding?.length;
  // to read a long vector once more takes as long as to find it
  const isTold = distanceOf(table, dimensions) === "cosine" &&
    indexFor(table, dimensions)?.castTo === undefined;
  const carried = sql`, ${verbatim(table.textColumn)}::text AS content${
    isTold ? sql`` : sql`, ${similarity} AS similarity`
  }`;
  const near = vectorSearch({ ...search, limit: search.depth, embedding, dimensions, carried });
  return sql`postern_near AS (${near})
    SELECT DISTINCT ON (id COLLATE "C") ${verbatim(table.key.isId ? "id" : "NULL")},
      left(content, ${maxCharacters}::int), ${digestSql}, ${finiteSql("-distance")}, 0,
      ${verbatim(isTold ? "1 - nullif(distance, 'NaN')" : "similarity")}, NULL, false, NULL, NULL, NULL
    FROM postern_near WHERE id IS NOT NULL ORDER BY id COLLATE "C", distance`;
}

/**
 * The results of each search, as rows of `id` and `score`: the higher score is the better, and NULL where the search
 * gave none that is a finite number.
 */
function searchesSql(search: RetrievalSearch, embedding: SqlText): SqlText {
  const { table, question, phrases, filter, depth: limit, keywordSearch, vectorWeight, bm25 } = search;
  const listed = (name: string, score: string, found: SqlText) =>
    sql`${verbatim(name)} AS MATERIALIZED (
      SELECT id, max(${finiteSql(score)}) AS score
      FROM (${found}) a GROUP BY id
    )`;
  const searches: SqlText[] = [];
  const hasPhrase = keywordSearch !== undefined && phrases.length > 0;
  const areNone = sql`NOT EXISTS (SELECT FROM postern_phrase)`;
  if (hasPhrase) searches.push(sql`postern_phrase AS MATERIALIZED (${phraseSql(search, keywordSearch)})`);
  if (vectorWeight > 0) {
    const nearest = vectorSearch({ table, embedding, limit, filter, dimensions: search.embedding?.length });
    const kept =
      sql`SELECT * FROM (${nearest}) n WHERE n.id IN (SELECT id FROM postern_phrase) OR ${areNone}`;
    searches.push(listed("postern_nearest", "-distance", hasPhrase ? kept : nearest));
  }
  if (keywordSearch !== undefined) {
    const found = keywordSearch({ question, limit, filter, bm25 });
    const kept = sql`SELECT * FROM postern_phrase UNION ALL SELECT * FROM (${found}) k WHERE ${areNone}`;
    searches.push(listed("postern_matching", "score", hasPhrase ? kept : found));
  }
  return joinSql(searches, ", ");
}

/** Copies of a text have the same. */
const digestSql = verbatim(`md5(${trimmedSql("content")})`);

/** NULL in place of what is no finite number. */
function finiteSql(score: string): SqlText {
  return verbatim(`CASE WHEN abs(${score}) < 'Infinity' THEN ${score} END`);
}

/** How much more the words of a phrase weigh, so that what has them all is among what is looked at. */
const phraseWeight = 4;

/** Of the documents that its words find, those with the question's phrases, as rows of `id` and `score`. */
function phraseSql(
  { table, question, phrases, filter, depth, bm25 }: RetrievalSearch,
  keywordSearch: SearchByWords,
): SqlText {
  // only the beginning of a text is looked up, and the phrases decide
  const weighted = [...Array(phraseWeight - 1).fill(phrases.join("\n")), question].join("\n");
  const found = keywordSearch({ question: weighted, limit: longestAnswer, filter, bm25 });
  const { key, textColumn, relation } = table;
  return sql`SELECT k.id, k.score FROM (${found}) k WHERE EXISTS (
      SELECT FROM ${verbatim(relation)} AS source WHERE source.${identifierSql(key.name)} = k.id::${
    verbatim(key.type)
  } AND ${phrasesSql(phrases, `source.${textColumn}::text`)}
    ) ORDER BY k.score DESC, k.id LIMIT ${depth}`;
}
