import { forEachInSlices } from "../../core/async/yield.ts";
import { createRandomNumbers } from "../../core/random_numbers.ts";
import { mean } from "./metrics.ts";

export interface PairedDifference {
  readonly mean: number;
  /** Where 95 % of the means would lie, had other questions of the same kind been asked; absent of too few to say. */
  readonly interval?: { readonly low: number; readonly high: number };
}

/** Questions below which an interval would be narrower than what it stands for: of one it would have no width at all. */
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
