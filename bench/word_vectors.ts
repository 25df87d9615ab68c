import { words } from "../src/text/words.ts";
import { createRandom } from "./random.ts";

/** Of words that come again. */
const keptWords = 20_000;

/**
 * Embeddings of texts as random projections of their words (Johnson and Lindenstrauss): texts that share words are near
 * each other, as with a model, in time that a corpus of a million can spare.
 */
export function createWordVectors(dimensions: number): (text: string) => Float32Array {
  const kept = new Map<string, Float32Array>();
  const directionOf = (word: string) => {
    const known = kept.get(word);
    if (known !== undefined) return known;
    const random = createRandom([...word].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7));
    const direction = Float32Array.from({ length: dimensions }, () => random() - 0.5);
    if (kept.size < keptWords) kept.set(word, direction);
    return direction;
  };
  return (text) => {
    const sum = new Float32Array(dimensions);
    for (const word of words(text)) {
      const direction = directionOf(word);
      // short words say little of a topic
      const weight = Math.min(word.length, 8) ** 2;
      for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] ?? 0) + weight * (direction[at] ?? 0);
    }
    const length = Math.hypot(...sum) || 1;
    return sum.map((value) => Math.round(value / length * 1e4) / 1e4);
  };
}
