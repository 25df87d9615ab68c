import { mean, type PairedDifference, pairedDifference } from "./metrics.ts";

/** A weight of the vector search and what it gives, both from 0 to 1. */
interface WeighedFusion {
  readonly vectorWeight: number;
  readonly ndcgAt10: number;
}

/** The best weight, and how much better than the configured one it is, in nDCG@10. */
interface BestWeight extends WeighedFusion {
  readonly configured: number;
  readonly difference: PairedDifference;
}

export interface FusionWeights {
  /** In steps of 0.05, and the configured one. */
  readonly weights: readonly WeighedFusion[];
  /** The configured one where no other does better. */
  readonly best: BestWeight;
}

const steps = 20;

/** The weights that are worth comparing: steps of 0.05 from 0 to 1, and the configured one, in order. */
export function triedWeights(configured: number): number[] {
  const grid = Array.from({ length: steps + 1 }, (_, step) => step / steps);
  return [...new Set([...grid, configured])].sort((a, b) => a - b);
}

/**
 * The best of several weights, from what each of them gives.
 *
 * @param gains by weight, the nDCG@10 of each question, the questions in the same order
 * @param configured one of the weights
 */
export async function weighFusion(
  gains: ReadonlyMap<number, readonly number[]>,
  configured: number,
): Promise<FusionWeights> {
  const weights = Array.from(gains, ([vectorWeight, values]) => ({ vectorWeight, ndcgAt10: mean(values) }));
  const ownGains = gains.get(configured) ?? [];
  const own = { vectorWeight: configured, ndcgAt10: mean(ownGains) };
  const best = weights.reduce((best, one) => one.ndcgAt10 > best.ndcgAt10 ? one : best, own);
  const differences = (gains.get(best.vectorWeight) ?? []).map((gain, at) => gain - (ownGains[at] ?? 0));
  return { weights, best: { ...best, configured, difference: await pairedDifference(differences) } };
}
