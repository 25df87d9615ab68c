import { forEachInSlices } from "../../core/async/yield.ts";
import { createRandomNumbers } from "../../core/random_numbers.ts";
import type { Judgements } from "./judged_questions.ts";

/**
 * Normalised discounted cumulative gain, from 0 to 1: what the first documents are worth against the best order of all
 * judged ones. The gain is linear, the discount log2(rank + 1) (Järvelin and Kekäläinen, 2002; as trec_eval has it). 0
 * where nothing is relevant.
 *
 * @param ranking ids, the best first, none twice
 */
export function ndcgAt(depth: number, ranking: readonly string[], judgements: Judgements): number {
  const ideal = discountedGain(relevantGains(judgements).sort((a, b) => b - a).slice(0, depth));
  if (ideal === 0) return 0;
  return discountedGain(ranking.slice(0, depth).map((id) => gainOf(id, judgements))) / ideal;
}

/** The share of the relevant documents that are among the first; 0 where nothing is relevant. */
export function recallAt(depth: number, ranking: readonly string[], judgements: Judgements): number {
  const relevant = relevantGains(judgements).length;
  if (relevant === 0) return 0;
  return ranking.slice(0, depth).filter((id) => gainOf(id, judgements) > 0).length / relevant;
}

/** One over the place of the first relevant document, from 1; 0 where there is none. */
export function reciprocalRank(ranking: readonly string[], judgements: Judgements): number {
  const place = ranking.findIndex((id) => gainOf(id, judgements) > 0);
  return place === -1 ? 0 : 1 / (place + 1);
}

/** The least value that is not below so many percent of the values, which may be in any order; 0 of none. */
export function percentile(percent: number, values: readonly number[]): number {
  const ordered = values.toSorted((a, b) => a - b);
  const place = Math.ceil((percent / 100) * ordered.length) - 1;
  return ordered[Math.max(0, place)] ?? 0;
}

/** 0 of none. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function discountedGain(gains: readonly number[]): number {
  return gains.reduce((sum, gain, place) => sum + gain / Math.log2(place + 2), 0);
}

// TREC marks some documents with a negative gain, which counts as 0
function gainOf(id: string, judgements: Judgements): number {
  return Math.max(0, judgements.get(id) ?? 0);
}

function relevantGains(judgements: Judgements): number[] {
  return [...judgements.values()].filter((gain) => gain > 0);
}

export interface PairedDifference {
  readonly mean: number;
  /** Where 95 % of the means would lie, had other questions of the same kind been asked; absent of too few to say. */
  readonly interval?: { readonly low: number; readonly high: number };
}

/** With fewer questions, an interval would be too narrow; with one it would have no width. */
export const fewestQuestions = 20;

const resamples = 4_000;
const tail = 0.025;

/**
 * The mean of the differences that two ways made to the same questions, with a bootstrap interval (Efron's percentiles;
 * for retrieval: Sakai, 2006). An interval that holds 0 says that the difference may be chance. The same differences
 * give the same interval.
 */
export async function pairedDifference(differences: readonly number[]): Promise<PairedDifference> {
  if (differences.length < fewestQuestions) return { mean: mean(differences) };
  const random = createRandomNumbers(1);
  const means: number[] = [];
  await forEachInSlices(Array(resamples).keys(), () => {
    let sum = 0;
    for (let drawn = 0; drawn < differences.length; drawn++) {
      sum += differences[Math.floor(random() * differences.length)] ?? 0;
    }
    means.push(sum / differences.length);
  });
  means.sort((a, b) => a - b);
  const low = means[Math.floor(tail * resamples)] ?? 0;
  const high = means[Math.ceil((1 - tail) * resamples) - 1] ?? 0;
  return { mean: mean(differences), interval: { low, high } };
}
