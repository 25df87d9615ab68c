import { forEachInSlices } from "../../core/async/yield.ts";
import { fuseRankings } from "../search/fusion.ts";
import type { Judgements } from "./judged_questions.ts";
import { mean, ndcgAt, type PairedDifference, pairedDifference } from "./metrics.ts";

/** What the two searches found for one question, the best first. */
interface FoundLists {
  readonly nearest: readonly string[];
  readonly matching: readonly string[];
  readonly judgements: Judgements;
}

/** What a weight of the vector search would give, from 0 to 1. */
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

/**
 * The fusion's nDCG@10 for each weight in steps of 0.05, from the searches' own lists: nothing is searched again. Of
 * several
 * tables it is an estimate, as similarities across them are not known here.
 *
 * @param configured a weight from 0 to 1
 */
export async function weighFusion(
  questions: readonly FoundLists[],
  configured: number,
): Promise<FusionWeights> {
  const grid = Array.from({ length: steps + 1 }, (_, step) => step / steps);
  const gains = new Map<number, readonly number[]>();
  for (const weight of [...new Set([...grid, configured])].sort((a, b) => a - b)) {
    gains.set(weight, await gainsOf(questions, weight));
  }
  const weights = Array.from(gains, ([vectorWeight, values]) => ({ vectorWeight, ndcgAt10: mean(values) }));
  const own = { vectorWeight: configured, ndcgAt10: mean(gains.get(configured) ?? []) };
  const best = weights.reduce((best, one) => one.ndcgAt10 > best.ndcgAt10 ? one : best, own);
  const ownGains = gains.get(configured) ?? [];
  const differences = (gains.get(best.vectorWeight) ?? []).map((gain, at) => gain - (ownGains[at] ?? 0));
  return { weights, best: { ...best, configured, difference: await pairedDifference(differences) } };
}

/** Of each question. */
async function gainsOf(questions: readonly FoundLists[], vectorWeight: number): Promise<readonly number[]> {
  const gains: number[] = [];
  await forEachInSlices(questions, ({ nearest, matching, judgements }) => {
    const fused = fuseRankings([
      { weight: vectorWeight, ranks: ranksOf(nearest) },
      { weight: 1 - vectorWeight, ranks: ranksOf(matching) },
    ]);
    // what only a search without weight found is not found
    const ranking = fused.filter(({ score }) => score > 0).map(({ key }) => key);
    gains.push(ndcgAt(10, ranking, judgements));
  });
  return gains;
}

function ranksOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, at) => [id, at + 1]));
}
