import { isFunctionWord, words } from "../../text/words.ts";
import { searchStem } from "../../text/word_stem.ts";
import { countTokens } from "../../text/token_count.ts";
import { type EmbeddingProvider, noUsage, type OnUsage } from "../provider.ts";
import { createSlices } from "../../core/async/yield.ts";

// promised: users' tables are made for vectors of this length
const dimensions = 256;
const functionWordWeight = 0.1;
/** A heading, or what a text says first, tells more of its topic than the rest. */
const openingWords = 16;
const openingWeight = 1.3;
const gramLengths = [3, 4, 5] as const;
const longestPiece = 8192;

/**
 * Embeddings without a model, for demonstrations and tests: each word's stem, and the groups of three to five letters
 * within it, raise two of 256 numbers chosen by a hash. Texts are near each other when they share words or parts of
 * words; it knows nothing of meaning. The same text gives the same bits everywhere. A text without words is equally far
 * (cosine 0) from every text that has some. The usage is `countTokens`'s estimate.
 */
export function localEmbedding(onUsage?: OnUsage): EmbeddingProvider {
  return {
    name: "local/hashed-256",
    ping: (signal) => Promise.resolve(signal).then((given) => given.throwIfAborted()),
    async embed({ texts, signal, onUsage: ofRequest }) {
      const nextSlice = createSlices(signal);
      const vectors: Float32Array[] = [];
      let promptTokens = 0;
      for (const text of texts) {
        const weights = new Map<string, number>();
        let position = 0;
        for (const piece of piecesOf(text)) {
          await nextSlice();
          position = addWords(piece, position, weights);
          promptTokens += countTokens(piece);
        }
        vectors.push(vectorOf(weights));
      }
      const usage = { ...noUsage, promptTokens };
      onUsage?.(usage);
      ofRequest?.(usage);
      return { vectors, usage };
    },
  };
}

/** Cut between words where there is a blank near enough. */
function* piecesOf(text: string): Iterable<string> {
  for (let start = 0; start < text.length;) {
    const blank = text.indexOf(" ", start + longestPiece);
    const end = blank < 0 || blank > start + 2 * longestPiece ? start + longestPiece : blank;
    yield text.slice(start, end);
    start = end;
  }
}

function addWords(text: string, from: number, weights: Map<string, number>): number {
  let position = from;
  for (const word of words(text)) {
    const stem = searchStem(word);
    const weight = (isFunctionWord(word) ? functionWordWeight : 1) *
      (position < openingWords ? openingWeight : 1);
    weights.set(stem, (weights.get(stem) ?? 0) + weight * weight);
    position++;
  }
  return position;
}

/**
 * The numbers hold squares until their roots are taken: what falls on the same number outweighs instead of adding up,
 * which keeps few dimensions from filling with noise. All operations are exact in IEEE 754, so that no platform differs.
 */
function vectorOf(weights: ReadonlyMap<string, number>): Float32Array {
  const squares = new Float64Array(dimensions);
  for (const [stem, weight] of weights) {
    raise(squares, hash(stem, 0, stem.length, 1), weight);
    addGrams(squares, `^${stem}$`, weight);
  }
  return unitVector(squares.map(Math.sqrt));
}

function addGrams(squares: Float64Array, bounded: string, weight: number): void {
  for (const length of gramLengths) {
    const count = bounded.length - length + 1;
    for (let at = 0; at < count; at++) raise(squares, hash(bounded, at, at + length, 2), weight / count);
  }
}

function raise(squares: Float64Array, hashed: number, weight: number): void {
  const first = hashed & 255;
  const second = (hashed >>> 8) & 255;
  squares[first] = (squares[first] ?? 0) + weight;
  squares[second] = (squares[second] ?? 0) + weight;
}

/** Around the mean, so that texts with nothing in common have a cosine of about 0. */
function unitVector(values: Float64Array): Float32Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / dimensions;
  const centred = values.map((value) => value - mean);
  const length = Math.sqrt(centred.reduce((sum, value) => sum + value * value, 0));
  if (length === 0) return new Float32Array(dimensions).fill(1 / 16);
  return Float32Array.from(centred, (value) => value / length);
}

/** FNV-1a over UTF-16 units, with MurmurHash3's last step to spread it over all bits. */
function hash(text: string, start: number, end: number, seed: number): number {
  let hashed = 0x811c9dc5 ^ seed;
  for (let at = start; at < end; at++) hashed = Math.imul(hashed ^ text.charCodeAt(at), 0x01000193);
  hashed = Math.imul(hashed ^ (hashed >>> 16), 0x85ebca6b);
  hashed = Math.imul(hashed ^ (hashed >>> 13), 0xc2b2ae35);
  return (hashed ^ (hashed >>> 16)) >>> 0;
}
