import { sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";

/**
 * What is added to each rank. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
 * Individual
 * Rank Learning Methods" (SIGIR 2009) found 60 to do well on every collection that they tried.
 */
const rankConstant = 60;

/** What one way of searching found. */
export interface Ranking {
  /** How much it counts against the others; 0 or more. */
  readonly weight: number;
  /** From 1, which is the best, by key. Ranks may be shared, and some may be missing. */
  readonly ranks: ReadonlyMap<string, number>;
}

/**
 * Weighted reciprocal rank fusion: each ranking gives `weight / (60 + rank)` to the keys that it has. Every key of any
 * ranking once, the highest sum first, equal sums in the order of their keys' UTF-16 units.
 */
export function fuseRankings(
  rankings: readonly Ranking[],
): readonly { readonly key: string; readonly score: number }[] {
  const scores = new Map<string, number>();
  for (const { weight, ranks } of rankings) {
    for (const [key, rank] of ranks) {
      scores.set(key, (scores.get(key) ?? 0) + weight / (rankConstant + rank));
    }
  }
  return Array.from(scores, ([key, score]) => ({ key, score }))
    .sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1));
}

/**
 * The same within one table, in SQL: `id`, `nearest_rank`, `matching_rank`, `score`, the best first. It reads `id` and
 * `rank` from `postern_nearest`, unless the weight is 0, and from `postern_matching` where words are searched.
 *
 * @param vectorWeight from 0 to 1; what is left of 1 is the weight of the words
 */
export function fusionSql(vectorWeight: number, hasWords: boolean): SqlText {
  const score = (rank: string, weight: number) =>
    sql`coalesce(${weight}::float8 / (${verbatim(`${rankConstant} + ${rank}`)}), 0)`;
  const order = sql`ORDER BY score DESC, id COLLATE "C"`;
  if (!hasWords) {
    return sql`SELECT id, rank AS nearest_rank, NULL AS matching_rank, ${score("rank", vectorWeight)} AS score
      FROM postern_nearest ${order}`;
  }
  if (vectorWeight === 0) {
    return sql`SELECT id, NULL AS nearest_rank, rank AS matching_rank, ${score("rank", 1)} AS score
      FROM postern_matching ${order}`;
  }
  return sql`SELECT id, n.rank AS nearest_rank, m.rank AS matching_rank,
      ${score("n.rank", vectorWeight)} + ${score("m.rank", 1 - vectorWeight)} AS score
    FROM postern_nearest n FULL JOIN postern_matching m USING (id) ${order}`;
}

/** How many results each search may return where repeats fill its list. */
export const maxDepth = 400;

/**
 * How many results each search returns: enough to find documents that are good in both searches and best in neither.
 */
export function depthOf(limit: number): number {
  return Math.max(50, Math.min(4 * limit, limit + 100, maxDepth));
}

/** A document that answers a question. */
export interface RetrievedDocument {
  /** As it was configured. */
  readonly table: string;
  /** Absent where the table has no id. */
  readonly id?: string;
  /** Cut off where it is longer than the search's bound. */
  readonly content: string;
  /** Of the fusion; comparable within one answer only. */
  readonly score: number;
  /** Cosine, from -1 to 1; absent where the document has no vector. */
  readonly similarity?: number;
}

/** A document with its places in its own table's searches, from 1. */
export interface Candidate extends Omit<RetrievedDocument, "score"> {
  /** Of the whole text without the blanks around it: what says the same has the same. */
  readonly digest: string;
  readonly nearestRank?: number;
  readonly matchingRank?: number;
}

/**
 * The documents of several tables as one list, the best first, each text once. Similarities can be compared from table
 * to table, so a document's place by vectors counts what is nearer in the others too; scores of words cannot, as each
 * table counts its own, and so the place by words stays.
 *
 * @param tables each as its own search returned it
 * @param vectorWeight from 0 to 1
 */
export function fuseTables(
  tables: readonly (readonly Candidate[])[],
  vectorWeight: number,
): RetrievedDocument[] {
  const keyed = new Map<string, Candidate>();
  const nearest = new Map<string, number>();
  const matching = new Map<string, number>();
  tables.forEach((candidates, at) => {
    const others = tables.filter((_, other) => other !== at).flat();
    for (const candidate of candidates) {
      const key = `${candidate.id ?? candidate.digest}\0${String(at).padStart(4, "0")}`;
      if (!keyed.has(key)) keyed.set(key, candidate);
      if (candidate.nearestRank !== undefined) {
        keepBest(nearest, key, candidate.nearestRank + nearerCount(others, candidate));
      }
      if (candidate.matchingRank !== undefined) keepBest(matching, key, candidate.matchingRank);
    }
  });
  const fused = fuseRankings([
    { weight: vectorWeight, ranks: nearest },
    { weight: 1 - vectorWeight, ranks: matching },
  ]);
  const ranked = fused.flatMap(({ key, score }) => {
    const candidate = keyed.get(key);
    return candidate === undefined ? [] : [{ ...candidate, score }];
  });
  // the same text twice would take the room of another in a prompt
  return [...Map.groupBy(ranked, ({ digest }) => digest).values()].flatMap(documentOf);
}

/** A text that several rows without an id have takes the best place of any of them. */
function keepBest(ranks: Map<string, number>, key: string, rank: number): void {
  ranks.set(key, Math.min(rank, ranks.get(key) ?? rank));
}

function nearerCount(others: readonly Candidate[], { similarity = -1 }: Candidate): number {
  return others.filter((other) => other.nearestRank !== undefined && (other.similarity ?? -1) > similarity)
    .length;
}

/** Of a text's copies, the best first: at the best one's place, the best that a client can name. */
function documentOf(copies: readonly (Candidate & { readonly score: number })[]): RetrievedDocument[] {
  const [best] = copies;
  if (best === undefined) return [];
  const { table, id, content, similarity } = copies.find((copy) => copy.id !== undefined) ?? best;
  return [{
    table,
    ...(id !== undefined && { id }),
    content,
    score: best.score,
    ...(similarity !== undefined && { similarity }),
  }];
}
