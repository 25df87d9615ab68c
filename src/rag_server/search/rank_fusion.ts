import { sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import type { Candidate, TableSearch } from "./candidate.ts";

/**
 * The number that is added to each rank. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
 * Individual Rank Learning Methods" (SIGIR 2009) found 60 to do well on every collection that they tried.
 */
const rankConstant = 60;

/**
 * Weighted reciprocal rank fusion of one table's searches: `weight / (60 + rank)` of each search that found a row, added
 * up. SQL of `nearest_rank` and `matching_rank`.
 */
export function rankFusionSql(vectorWeight: number): SqlText {
  const part = (rank: string, weight: number) =>
    sql`coalesce(${weight}::float8 / (${verbatim(`${rankConstant} + ${rank}`)}), 0)`;
  return sql`${part("nearest_rank", vectorWeight)} + ${part("matching_rank", 1 - vectorWeight)}`;
}

/**
 * The same of several tables, in the order of {@linkcode TableSearch.candidates}. Similarities can be compared from table
 * to table, so a document's place by vectors counts what is nearer in the others too; scores of words cannot, as each
 * table counts its own, and so the place by words stays.
 *
 * @param vectorWeight from 0 to 1
 */
export function rankFusionScores(tables: readonly TableSearch[], vectorWeight: number): number[][] {
  return tables.map(({ candidates }, at) => {
    const others = tables.filter((_, other) => other !== at).flatMap((table) => table.candidates);
    return candidates.map((candidate) => {
      const { nearestRank, matchingRank } = candidate;
      const nearest = nearestRank && nearestRank + nearerCount(others, candidate);
      return part(nearest, vectorWeight) + part(matchingRank, 1 - vectorWeight);
    });
  });
}

function part(rank: number | undefined, weight: number): number {
  return rank === undefined ? 0 : weight / (rankConstant + rank);
}

function nearerCount(others: readonly Candidate[], { similarity = -1 }: Candidate): number {
  return others.filter((other) => other.nearestRank !== undefined && (other.similarity ?? -1) > similarity)
    .length;
}
