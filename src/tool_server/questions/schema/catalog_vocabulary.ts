import { wordStem } from "../../../text/word_stem.ts";
import { abbreviations, irregularForms, synonyms } from "./synonyms.ts";
import { push, skeleton, wordRoot, wordWeight } from "./name_words.ts";

/** A word of the catalog that a request's word may mean, and how surely, above 0 to 1. */
export interface Candidate {
  readonly term: string;
  readonly quality: number;
}

const quality = {
  same: 1,
  abbreviation: 0.85,
  root: 0.7,
  synonym: 0.6,
  skeleton: 0.75,
  prefix: 0.5,
  misspelt: 0.5,
} as const;
/** What is left of a guess where a table goes by the request's own word. */
const guessBesideSame = 0.6;
const longerWords = 12;
/**
 * PostgreSQL's names are shorter, so a longer word is no name. Searching for it would take the square of its length.
 */
const longestWord = 64;

/** What each word is abbreviated to: {@linkcode abbreviations} the other way round, by stems. */
function shortForms(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [short, meanings] of abbreviations) {
    for (const meaning of meanings) {
      push(found, meaning.split("_").map(wordStem).join(" "), short);
    }
  }
  return found;
}

/**
 * Finds the catalog's words that a request may mean: the same stem, short forms, words of one root, synonyms,
 * beginnings, words without their vowels and, where nothing else fits, words with one letter wrong.
 */
export function createVocabulary() {
  const terms = new Set<string>();
  const tableNames = new Set<string>();
  const byRoot = new Map<string, string[]>();
  const bySkeleton = new Map<string, string[]>();
  const shortened = shortForms();
  let sorted: string[] = [];

  /** Takes in a word of the catalog. */
  function add(term: string, options: { isTableName: boolean }): void {
    if (options.isTableName) tableNames.add(term);
    if (terms.has(term)) return;
    terms.add(term);
    push(byRoot, wordRoot(term), term);
    if (term.length > 2) push(bySkeleton, skeleton(term), term);
  }

  function withPrefix(prefix: string): string[] {
    if (sorted.length < terms.size) sorted = [...terms].sort();
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] ?? "") < prefix) low = middle + 1;
      else high = middle;
    }
    return sorted.slice(low, low + longerWords).filter((term) => term.startsWith(prefix));
  }

  /** The words that mean the same by the two tables. */
  function* related(stem: string): Generator<Candidate> {
    const forms = [stem, irregularForms.get(stem)].filter((form) => form !== undefined);
    for (const form of forms) {
      if (form !== stem) yield { term: form, quality: quality.root };
      for (const short of shortened.get(form) ?? []) yield { term: short, quality: quality.abbreviation };
      const meanings = abbreviations.get(form) ?? [];
      const ofSeveral = meanings.filter((meaning) => meaning.includes("_"));
      for (const part of ofSeveral.flatMap((meaning) => meaning.split("_"))) {
        yield { term: wordStem(part), quality: quality.prefix };
      }
      const single = meanings.filter((meaning) => !meaning.includes("_"));
      for (const meaning of single) yield { term: wordStem(meaning), quality: quality.abbreviation };
      for (const base of [form, ...single]) {
        for (const other of synonyms.get(base) ?? []) {
          yield { term: wordStem(other), quality: quality.synonym };
          for (const short of shortened.get(other) ?? []) {
            yield { term: short, quality: quality.synonym * quality.abbreviation };
          }
          for (const short of withoutVowels(other)) {
            yield { term: short.term, quality: quality.synonym * short.quality };
          }
        }
      }
    }
  }

  /** The words that look alike. */
  function* similar(stem: string): Generator<Candidate> {
    for (const term of byRoot.get(wordRoot(stem)) ?? []) yield { term, quality: quality.root };
    if (stem.length < 3) return;
    for (let length = 3; length < stem.length; length++) {
      const term = stem.slice(0, length);
      if (wordWeight(term) === 1) yield { term, quality: quality.prefix * Math.sqrt(length / stem.length) };
    }
    if (stem.length > 3) {
      for (const term of withPrefix(stem)) {
        yield { term, quality: quality.prefix * (0.5 + stem.length / term.length / 2) };
      }
    }
    yield* withoutVowels(stem);
    // two words that both have vowels do not abbreviate each other: "field" is not "failure"
    if (skeleton(stem) === stem) {
      for (const term of bySkeleton.get(stem) ?? []) yield { term, quality: quality.skeleton };
    }
  }

  /** The catalog's words that are a word's consonants or the first few of them: `splr` and `spl` of "supplier". */
  function* withoutVowels(word: string): Generator<Candidate> {
    const consonants = skeleton(word);
    for (let length = 3; length <= consonants.length; length++) {
      const term = consonants.slice(0, length);
      if (terms.has(term)) {
        yield { term, quality: length === consonants.length ? quality.skeleton : quality.prefix };
      }
    }
  }

  /** The catalog's words that a request's word may mean, the surest reading of each. */
  function candidates(word: string): Candidate[] {
    if (word.length > longestWord) return [];
    const stem = wordStem(word);
    const best = new Map<string, number>();
    const isKnown = tableNames.has(stem);
    const guess = isKnown ? guessBesideSame : 1;
    const consider = (candidate: Candidate, factor: number) => {
      if (!terms.has(candidate.term)) return;
      best.set(candidate.term, Math.max(best.get(candidate.term) ?? 0, candidate.quality * factor));
    };
    consider({ term: stem, quality: quality.same }, 1);
    for (const candidate of related(stem)) {
      consider(candidate, candidate.quality < quality.abbreviation ? guess : 1);
    }
    for (const candidate of similar(stem)) consider(candidate, guess);
    if (best.size === 0) {
      for (const term of misspellings(stem, terms)) consider({ term, quality: quality.misspelt }, 1);
    }
    return [...best].map(([term, value]) => ({ term, quality: value }));
  }

  /** The short forms in the catalog of several words in a row, given as stems: `gl` of "general ledger". */
  function initials(stems: readonly string[]): Candidate[] {
    const first = stems.map((stem) => stem.slice(0, 1)).join("");
    const forms = new Set(shortened.get(stems.join(" ")));
    if (stems.length > 2) forms.add(first);
    return [...forms.intersection(terms)].map((term) => ({ term, quality: quality.abbreviation }));
  }

  return { add, candidates, initials };
}

export type Vocabulary = ReturnType<typeof createVocabulary>;

/** The known words that a word becomes by dropping, swapping, changing or adding one letter of the Latin alphabet. */
function* misspellings(word: string, known: ReadonlySet<string>): Generator<string> {
  if (word.length < 6 || word.length > 24) return;
  const letters = "abcdefghijklmnopqrstuvwxyz";
  for (let at = 0; at <= word.length; at++) {
    const before = word.slice(0, at);
    const variants = [
      before + word.slice(at + 1),
      before + word.slice(at + 1, at + 2) + word.slice(at, at + 1) + word.slice(at + 2),
    ];
    for (const letter of letters) {
      variants.push(before + letter + word.slice(at + 1), before + letter + word.slice(at));
    }
    for (const variant of variants) if (known.has(variant)) yield variant;
  }
}
