import { createSlices } from "../../core/async/yield.ts";
import { isFunctionWord, words } from "../../text/words.ts";
import { searchStem } from "../../text/word_stem.ts";
import { countTokens } from "../../text/token_count.ts";
import { noUsage, type OnUsage, type RerankProvider } from "../provider.ts";

const termSaturation = 1.2;
const lengthInfluence = 0.75;

/** What a document holds of the query: where each of its words that the query has stands, in order. */
interface Candidate {
  readonly index: number;
  readonly length: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly hits: readonly { readonly stem: string; readonly position: number }[];
}

/**
 * Reranking without a model: Okapi BM25 over the candidates alone, how much of the query a document covers, and how
 * near to each other its words stand. Scores are from 0, for nothing in common, to 1; equal ones keep the documents'
 * order. The usage is `countTokens`'s estimate.
 */
export function localRerank(onUsage?: OnUsage): RerankProvider {
  return {
    name: "local/bm25",
    ping: (signal) => Promise.resolve(signal).then((given) => given.throwIfAborted()),
    async rerank({ query, documents, topK, signal }) {
      const stems = questionStems(query);
      const nextSlice = createSlices(signal);
      const candidates: Candidate[] = [];
      let promptTokens = countTokens(query);
      for (const [index, document] of documents.entries()) {
        await nextSlice();
        candidates.push(readCandidate(document, index, new Set(stems)));
        promptTokens += countTokens(document);
      }
      const usage = { ...noUsage, promptTokens };
      onUsage?.(usage);
      const results = scores(candidates, stems)
        .sort((one, other) => other.score - one.score || one.index - other.index)
        .slice(0, topK);
      return { results, usage };
    },
  };
}

function readCandidate(document: string, index: number, stems: ReadonlySet<string>): Candidate {
  const found = words(document);
  const counts = new Map<string, number>();
  const hits = [];
  for (const [position, word] of found.entries()) {
    const stem = searchStem(word);
    if (!stems.has(stem)) continue;
    counts.set(stem, (counts.get(stem) ?? 0) + 1);
    hits.push({ stem, position });
  }
  return { index, length: found.length, counts, hits };
}

function scores(
  candidates: readonly Candidate[],
  stems: readonly string[],
): { index: number; score: number }[] {
  const rarity = rarities(stems, candidates.map(({ counts }) => new Set(counts.keys())));
  const total = stems.reduce((sum, stem) => sum + (rarity.get(stem) ?? 0), 0);
  const averageLength = candidates.reduce((sum, { length }) => sum + length, 0) / candidates.length || 1;
  return candidates.map(({ index, length, counts, hits }) => {
    let bm25 = 0;
    let covered = 0;
    for (const [stem, count] of counts) {
      const weight = rarity.get(stem) ?? 0;
      const norm = termSaturation * (1 - lengthInfluence + lengthInfluence * length / averageLength);
      bm25 += weight * count / (count + norm);
      covered += weight;
    }
    if (covered === 0) return { index, score: 0 };
    const proximity = counts.size < 2 ? 0 : counts.size / smallestWindow(hits, counts.size);
    return { index, score: (0.95 * bm25 + 0.05 * covered * proximity) / total };
  });
}

/** How many words the shortest stretch is that holds each of `distinct` different stems; `hits` hold them all, in order. */
function smallestWindow(
  hits: readonly { readonly stem: string; readonly position: number }[],
  distinct: number,
): number {
  const inside = new Map<string, number>();
  let smallest = Infinity;
  let first = 0;
  for (const last of hits) {
    inside.set(last.stem, (inside.get(last.stem) ?? 0) + 1);
    for (let left = hits[first]; left !== undefined && inside.size === distinct; left = hits[++first]) {
      smallest = Math.min(smallest, last.position - left.position + 1);
      const rest = (inside.get(left.stem) ?? 1) - 1;
      if (rest === 0) inside.delete(left.stem);
      else inside.set(left.stem, rest);
    }
  }
  return smallest;
}

/** The stems of a text's words in order, without those that carry no topic. */
export function topicStems(text: string): string[] {
  return words(text).filter((word) => !isFunctionWord(word)).map(searchStem);
}

/** A question's distinct stems; all its words where none carries a topic. */
export function questionStems(question: string): string[] {
  const stems = topicStems(question);
  return [...new Set(stems.length > 0 ? stems : words(question).map(searchStem))];
}

/**
 * How rare each of some stems is among texts, from 0 upwards: the inverse document frequency of Okapi BM25 (Robertson
 * and Zaragoza, The Probabilistic Relevance Framework, 2009), with one added so that it is never negative.
 */
export function rarities(
  stems: readonly string[],
  texts: readonly ReadonlySet<string>[],
): Map<string, number> {
  return new Map(stems.map((stem) => {
    const holders = texts.reduce((sum, text) => sum + (text.has(stem) ? 1 : 0), 0);
    return [stem, Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))];
  }));
}
