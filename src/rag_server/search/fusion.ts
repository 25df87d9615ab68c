import { sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import type { Candidate, RetrievedDocument, TableSearch } from "./candidate.ts";
import type { FusionKind } from "./fusion_kinds.ts";
import { rankFusionScores, rankFusionSql } from "./rank_fusion.ts";
import { scoreFusionScores, scoreFusionSql } from "./score_fusion.ts";

/** How many results each search may return where repeats fill its list. */
export const maxDepth = 400;

/** Ranks say enough of the first 50 results; scores need more to tell what is usual. */
const leastDepth: Readonly<Record<FusionKind, number>> = { rrf: 50, zscore: 100 };

/**
 * How many results each search returns: enough to find documents that are good in both searches and best in neither.
 */
export function depthOf(limit: number, fusion: FusionKind): number {
  return Math.max(leastDepth[fusion], Math.min(4 * limit, limit + 100, maxDepth));
}

/**
 * The results of one table's searches, in SQL: `id`, `nearest_rank`, `nearest_score`, `matching_rank` and
 * `matching_score`, each row once. It reads `id`, `rank` and `score` from `postern_nearest`, unless the weight is 0, and
 * from `postern_matching` where words are searched. What has none of the words has 0 for its score.
 *
 * @param depth of each search
 */
export function foundSql(
  { vectorWeight, hasWords, depth }: { vectorWeight: number; hasWords: boolean; depth: number },
): SqlText {
  const nearest = verbatim("rank AS nearest_rank, score AS nearest_score");
  const matching = verbatim("rank AS matching_rank, score AS matching_score");
  const none = (name: string, score: string) =>
    verbatim(`NULL::int AS ${name}_rank, ${score}::float8 AS ${name}_score`);
  if (!hasWords) return sql`SELECT id, ${nearest}, ${none("matching", "0")} FROM postern_nearest`;
  if (vectorWeight === 0) {
    return sql`SELECT id, ${none("nearest", "NULL")}, ${matching} FROM postern_matching`;
  }
  // a list that is not full holds all that has any of the words
  const isShort = sql`m.id IS NULL AND (SELECT count(*) FROM postern_matching) < ${depth}`;
  return sql`SELECT id, n.rank AS nearest_rank, n.score AS nearest_score, m.rank AS matching_rank,
      CASE WHEN ${isShort} THEN 0 ELSE m.score END AS matching_score
    FROM postern_nearest n FULL JOIN postern_matching m USING (id)`;
}

/**
 * One table's searches as one, in SQL: what `postern_all` has of {@linkcode foundSql}, with `score`, the best first.
 *
 * @param vectorWeight from 0 to 1; what is left of 1 is the weight of the words
 */
export function fusionSql(fusion: FusionKind, vectorWeight: number): SqlText {
  const score = fusion === "rrf" ? rankFusionSql(vectorWeight) : scoreFusionSql(vectorWeight);
  return sql`SELECT *, ${score} AS score FROM postern_all ORDER BY score DESC, id COLLATE "C"`;
}

/**
 * The documents of several tables as one list, the best first, each text once.
 *
 * @param vectorWeight from 0 to 1
 */
export function fuseTables(
  tables: readonly TableSearch[],
  fusion: FusionKind,
  vectorWeight: number,
): RetrievedDocument[] {
  const scores = (fusion === "rrf" ? rankFusionScores : scoreFusionScores)(tables, vectorWeight);
  const ranked = tables.flatMap(({ candidates }, table) =>
    candidates.map((candidate, place) => ({
      candidate,
      // one name may stand for rows of several tables
      key: `${candidate.id ?? candidate.digest}\0${String(table).padStart(4, "0")}`,
      score: scores[table]?.[place] ?? 0,
    }))
  ).sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1));
  // the same text twice would take the room of another in a prompt
  return [...Map.groupBy(ranked, ({ candidate }) => candidate.digest).values()].flatMap(documentOf);
}

/** One document for the copies of a text, the best first: the best one with an id, with the best one's score. */
function documentOf(
  copies: readonly { readonly candidate: Candidate; readonly score: number }[],
): RetrievedDocument[] {
  const [best] = copies;
  if (best === undefined) return [];
  const named = copies.find(({ candidate }) => candidate.id !== undefined) ?? best;
  const { table, id, content, similarity } = named.candidate;
  return [{
    table,
    ...(id !== undefined && { id }),
    content,
    score: best.score,
    ...(similarity !== undefined && { similarity }),
  }];
}
