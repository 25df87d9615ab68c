import { wordStem } from "../../../text/word_stem.ts";
import { type CompoundSplitter, nameWords, wordWeight } from "./name_words.ts";
import { longestValue, valueKey, valueRoot } from "./value_index.ts";

/** A word of a request that may say which tables it means. */
interface QuestionTerm {
  readonly word: string;
  readonly stem: string;
  /** Above 0, at most 1. */
  readonly weight: number;
}

/** A run of a request's words that may be a value. */
interface ValuePhrase {
  readonly key: string;
  /** Numbers of the terms that it covers. */
  readonly terms: readonly number[];
}

interface WordRun {
  readonly stems: readonly string[];
  /** The number of the term that the run begins with. */
  readonly term: number;
}

export interface QuestionReading {
  /** Each stem once. */
  readonly terms: readonly QuestionTerm[];
  /** All its words' stems, those included that are no terms. */
  readonly stems: ReadonlySet<string>;
  readonly phrases: readonly ValuePhrase[];
  /** Two to four words in a row, which a name may write as their initials. */
  readonly runs: readonly WordRun[];
  /** What is written as an identifier, in small letters: quoted, dotted or with an underscore. */
  readonly identifiers: readonly string[];
}

/** A request longer than this is read at its start and its end. */
const longestRead = 8_000;
const endRead = 2_000;
const mostTerms = 64;
/** The same in words, which are short where a script writes none apart. */
const mostWords = 2_000;
const endWords = 500;

const part = String.raw`(?:"[^"\n]{1,128}"|[\p{L}_][\p{L}\p{N}_$]*)`;
// neither begins within a name: a long one would else be read again from each of its letters
const dotted = new RegExp(String.raw`(?<![\p{L}\p{N}_$])${part}(?:\.${part})+`, "gu");
const quoted = /"([^"\n]{1,128})"|`([^`\n]{1,128})`|“([^”\n]{1,128})”|(?<![\p{L}\p{N}])'([^'\n]{1,128})'/gu;
const underscored = /(?<![\p{L}\p{N}_$])[\p{L}\p{N}$]*_[\p{L}\p{N}_$]*/gu;

/** Reads what a request in words says about tables, columns and values. Takes linear time, and any text. */
export function readQuestion(text: string, splitCompound: CompoundSplitter): QuestionReading {
  const read = text.length <= longestRead
    ? text
    : `${text.slice(0, longestRead - endRead)} ${text.slice(-endRead)}`;
  const found = startAndEnd(nameWords(read)).flatMap(splitCompound);
  const terms = questionTerms(found);
  const quotes = [...read.matchAll(quoted)].map((match) =>
    match.slice(1).find((group) => group !== undefined) ?? ""
  );
  const capitals = new Set(
    read.match(/(?<![\p{L}\p{N}])\p{Lu}{2}(?![\p{L}\p{N}])/gu)?.map((word) => word.toLowerCase()),
  );
  const phrases = valuePhrases(found, terms, capitals);
  for (const quote of quotes) phrases.push({ key: valueKey(nameWords(quote)), terms: [] });
  return {
    terms,
    stems: new Set(found.map(wordStem)),
    phrases,
    runs: wordRuns(found, terms),
    identifiers: identifiers(read, quotes),
  };
}

function startAndEnd(words: readonly string[]): readonly string[] {
  return words.length <= mostWords
    ? words
    : [...words.slice(0, mostWords - endWords), ...words.slice(-endWords)];
}

function questionTerms(found: readonly string[]): QuestionTerm[] {
  const terms = new Map<string, QuestionTerm>();
  for (const word of found) {
    if (terms.size === mostTerms) break;
    const stem = wordStem(word);
    const weight = wordWeight(word);
    if (weight > 0 && !terms.has(stem)) terms.set(stem, { word, stem, weight });
  }
  return [...terms.values()];
}

function wordRuns(found: readonly string[], terms: readonly QuestionTerm[]): WordRun[] {
  const stems = found.map(wordStem);
  return terms.flatMap(({ stem }, term) => {
    const start = stems.indexOf(stem);
    return [2, 3, 4].map((length) => ({ stems: stems.slice(start, start + length), term }));
  });
}

/** A single word is a value where it says anything; two letters only as capitals, since "in" is no Indiana. */
function valuePhrases(
  found: readonly string[],
  terms: readonly QuestionTerm[],
  capitals: ReadonlySet<string>,
): ValuePhrase[] {
  const places = new Map(terms.map((term, at) => [term.stem, at]));
  const phrases = new Map<string, ValuePhrase>();
  const roots = found.map(valueRoot);
  const covers = found.map((word) => places.get(wordStem(word)));
  for (let start = 0; start < found.length; start++) {
    for (let length = 1; length <= longestValue && start + length <= found.length; length++) {
      const word = found[start] ?? "";
      if (length === 1 && (word.length < 3 ? !capitals.has(word) : wordWeight(word) === 0)) continue;
      const key = roots.slice(start, start + length).join(" ");
      if (phrases.has(key)) continue;
      const covered = covers.slice(start, start + length).filter((place) => place !== undefined);
      phrases.set(key, { key, terms: covered });
    }
  }
  return [...phrases.values()];
}

function identifiers(read: string, quotes: readonly string[]): string[] {
  const bare = [...read.match(dotted) ?? [], ...read.match(underscored) ?? []];
  const names = [...bare.map((name) => name.replaceAll('"', "")), ...quotes];
  return [...new Set(names.map((name) => name.toLowerCase()))];
}
