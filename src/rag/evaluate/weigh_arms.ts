import { forEachInSlices } from "../../core/share_the_thread.ts";
import { fuseRankings } from "../../text/rank_fusion.ts";
import { type Judgements, mean, ndcgAt } from "./metrics.ts";

/** What the two arms found for one question, the best first. */
export interface ArmLists {
  readonly nearest: readonly string[];
  readonly matching: readonly string[];
  readonly judgements: Judgements;
}

/** What a weight of the vector arm would give, from 0 to 1. */
export interface WeighedFusion {
  readonly vectorWeight: number;
  readonly ndcgAt10: number;
}

const steps = 20;

/**
 * The fusion's nDCG@10 for each weight in steps of 0.05, from the arms' own lists: nothing is searched again. Of several
 * tables it is an estimate, as similarities across them are not known here.
 */
export async function weighArms(questions: readonly ArmLists[]): Promise<WeighedFusion[]> {
  const fusions: WeighedFusion[] = [];
  for (let step = 0; step <= steps; step++) {
    const vectorWeight = step / steps;
    const gains: number[] = [];
    await forEachInSlices(questions, ({ nearest, matching, judgements }) => {
      const fused = fuseRankings([
        { weight: vectorWeight, ranks: ranksOf(nearest) },
        { weight: 1 - vectorWeight, ranks: ranksOf(matching) },
      ]);
      // what only an arm without weight found is not found
      const ranking = fused.filter(({ score }) => score > 0).map(({ key }) => key);
      gains.push(ndcgAt(10, ranking, judgements));
    });
    fusions.push({ vectorWeight, ndcgAt10: mean(gains) });
  }
  return fusions;
}

function ranksOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, at) => [id, at + 1]));
}
