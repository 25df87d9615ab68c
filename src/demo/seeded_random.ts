import { createRandomNumbers } from "../core/random_numbers.ts";

/** Random choices that are the same on every machine and in every version for one seed. */
export interface SeededRandom {
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** True `percent` times of a hundred. */
  chance(percent: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** `count` different items, or all where there are fewer. */
  sample<T>(items: readonly T[], count: number): T[];
}

/** @param seed a whole number */
export function createSeededRandom(seed: number): SeededRandom {
  const next = createRandomNumbers(seed);

  function integer(min: number, max: number): number {
    return min + Math.floor(next() * (max - min + 1));
  }

  function pick<T>(items: readonly T[]): T {
    const [item] = items.slice(integer(0, items.length - 1));
    if (item === undefined) throw new RangeError("Cannot pick an item: there are none");
    return item;
  }

  function sample<T>(items: readonly T[], count: number): T[] {
    const left = [...items];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(...left.splice(integer(0, left.length - 1), 1));
    }
    return taken;
  }

  return { integer, chance: (percent) => integer(1, 100) <= percent, pick, sample };
}
