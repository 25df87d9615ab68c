import { createSlices } from "../../../core/async/yield.ts";
import { chunkDocument } from "../../../text/chunk_document.ts";
import { countTokens, cutToTokens } from "../../../text/token_count.ts";
import { wordStem } from "../../../text/word_stem.ts";
import { isFunctionWord, words } from "../../../text/words.ts";

/** A part of a document that says something about the question. */
interface Passage<Document> {
  readonly document: Document;
  readonly text: string;
}

interface PassageBounds {
  /** Of one passage: a longer text is cut into several. */
  readonly chunkTokens: number;
  /** Of all passages together. */
  readonly maxTokens: number;
  /** From 0, as different from each other as can be, to 1, as relevant as can be. */
  readonly lambda: number;
}

interface Candidate<Document> extends Passage<Document> {
  readonly terms: ReadonlySet<string>;
  readonly tokens: number;
  relevance: number;
  /** To the passage most like it among those that were chosen. */
  likeness: number;
}

/** Of all texts together: what a search may read is more than an answer could ever show. */
const maxCharacters = 200_000;
const maxCandidates = 1_000;

/**
 * The passages of documents that answer a question best and repeat each other least, by maximal marginal relevance
 * (Carbonell and Goldstein, 1998), as many as fit. A passage is as relevant as its document, and as it has the question's
 * words; two are as alike as they share words.
 *
 * @param documents the best first; `score` from 0 to 1
 */
export async function diversePassages<Document extends { readonly content: string; readonly score: number }>(
  question: string,
  documents: readonly Document[],
  bounds: PassageBounds,
  signal: AbortSignal,
): Promise<Passage<Document>[]> {
  const nextSlice = createSlices(signal);
  const candidates: Candidate<Document>[] = [];
  let left = maxCharacters;
  for (const document of documents) {
    const text = document.content.slice(0, left).trim();
    left -= text.length;
    for (const part of text === "" ? [] : partsOf(text, bounds.chunkTokens)) {
      candidates.push({
        document,
        text: part,
        terms: termsOf(part),
        tokens: countTokens(part),
        relevance: 0,
        likeness: 0,
      });
    }
    await nextSlice();
    if (left <= 0 || candidates.length >= maxCandidates) break;
  }
  rate(termsOf(question), candidates);
  const chosen: Passage<Document>[] = [];
  let room = bounds.maxTokens;
  while (candidates.length > 0 && room > 0) {
    const best = bestOf(candidates, bounds.lambda);
    const [next] = candidates.splice(best, 1);
    if (next === undefined) break;
    // the best one is there, whatever its length
    const text = chosen.length === 0 ? cutToTokens(next.text, room) : next.text;
    if (chosen.length === 0 || next.tokens <= room) {
      chosen.push({ document: next.document, text });
      room -= next.tokens;
      for (const other of candidates) {
        other.likeness = Math.max(other.likeness, likenessOf(other.terms, next.terms));
      }
    }
    await nextSlice();
  }
  return chosen;
}

function partsOf(text: string, maxTokens: number): string[] {
  if (countTokens(text) <= maxTokens) return [text];
  const blocks = text.split(/\n\s*\n/).map((block) => ({ kind: "paragraph" as const, text: block }));
  const document = { title: "", sections: [{ headings: [], blocks }] };
  return chunkDocument(document, { maxTokens, overlapTokens: 0 }).map(({ text }) => text);
}

function termsOf(text: string): Set<string> {
  return new Set(words(text).filter((word) => !isFunctionWord(word)).map(wordStem));
}

/** Gives each passage its relevance, from 0 to 1: half by its document, half by the words, rare ones the most. */
function rate(
  question: ReadonlySet<string>,
  candidates: readonly Candidate<{ readonly score: number }>[],
): void {
  const weights = [...question].map((term) => {
    const having = candidates.filter(({ terms }) => terms.has(term)).length;
    return { term, weight: having === 0 ? 0 : Math.log(1 + candidates.length / having) };
  });
  const most = weights.reduce((sum, { weight }) => sum + weight, 0) || 1;
  const best = Math.max(...candidates.map(({ document }) => document.score), Number.MIN_VALUE);
  for (const candidate of candidates) {
    const shared = weights.reduce(
      (sum, { term, weight }) => candidate.terms.has(term) ? sum + weight : sum,
      0,
    );
    candidate.relevance = candidate.document.score / best / 2 + shared / most / 2;
  }
}

function bestOf(candidates: readonly Candidate<unknown>[], lambda: number): number {
  let best = 0;
  let bestValue = -Infinity;
  candidates.forEach(({ relevance, likeness }, at) => {
    const value = lambda * relevance - (1 - lambda) * likeness;
    if (value > bestValue) [best, bestValue] = [at, value];
  });
  return best;
}

/** From 0, no word in common, to 1, the same words. */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  let shared = 0;
  for (const term of one) if (other.has(term)) shared++;
  return shared / Math.sqrt(one.size * other.size);
}
