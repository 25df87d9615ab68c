import { createRandomNumbers } from "../src/core/random_numbers.ts";

/** Numbers from 0 to 1 that are the same for the same seed, and unlike those of the next one. */
export function createRandom(seed: number): () => number {
  return createRandomNumbers(Math.imul(seed, 0x9e3779b1));
}

/** The item at a share from 0 to 1 of a list that is not empty. */
export function pick<T>(items: readonly T[], share: number): T {
  const item = items[Math.floor(share * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}
