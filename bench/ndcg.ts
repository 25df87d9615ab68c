/** Normalised discounted cumulative gain of the first ten (Järvelin and Kekäläinen 2002), with linear gains; 0 to 1. */
export function ndcg<Id>(ranking: readonly Id[], gains: ReadonlyMap<Id, number>): number {
  const best = sumOf([...gains.values()].toSorted((a, b) => b - a));
  return best === 0 ? 0 : sumOf(ranking.map((id) => gains.get(id) ?? 0)) / best;
}

function sumOf(gains: readonly number[]): number {
  return gains.slice(0, 10).reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
