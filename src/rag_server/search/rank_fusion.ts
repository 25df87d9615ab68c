/**
 * What is added to each rank. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and Individual
 * Rank Learning Methods" (SIGIR 2009) found 60 to do well on every collection that they tried.
 */
export const rankConstant = 60;

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
    .sort((one, other) => other.score - one.score || compareText(one.key, other.key));
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
