import { createSlices } from "../core/async/yield.ts";
import { countCharacters } from "../text/chunk_document.ts";
import { splitSentences } from "../text/sentences.ts";
import { figuresIn } from "../text/figures.ts";
import { hasFigure, isFunctionWord, topicsOf, words } from "../text/words.ts";
import { searchStem } from "../text/word_stem.ts";

/** A sentence of an answer that claims or cites something. */
export interface Citation {
  /** Where it is in the answer, in Unicode characters. */
  readonly start: number;
  /** Excluded. */
  readonly end: number;
  /** Whether it names a source that the model was shown. */
  readonly cited: boolean;
  /** The numbers of the sources that it names, from 1. */
  readonly sources: number[];
  /** Numbers that it names and no source has. Optional: none where there is none. */
  readonly unknown?: number[];
  /** Whether the sources that it names have its numbers, dates and names, and most of its words. */
  readonly verified: boolean;
}

/** So much of a claim's words must be in what it cites; the rest is how one says it in other words. */
const leastShared = 0.5;
/** With fewer words and no number, as in "Yes.", a sentence claims nothing that could be looked up. */
const leastWords = 3;

const mark = /[[【［]\s*\d{1,9}(?:\s*[,;、，–-]\s*\d{1,9})*\s*[\]】］]/gu;
const markup = "(?:[*_\\s]|</?(?:sup|b|i|em|strong)>)*";
const leadingMarks = new RegExp(`^(?:${mark.source}${markup})+[.。\\s]*`, "u");
/** Those that follow a full stop would hide it from what splits sentences. */
const marksBetween = new RegExp(
  `(?<=[\\p{Sentence_Terminal}…]["'”’»)\\]」』】）]{0,4})${markup}(?:${mark.source}${markup})+(?=[^\\s\\p{Ll}])`,
  "gu",
);
const marksBeforeStop = new RegExp(`(?:${mark.source})+[.!?](?=\\p{Lu})`, "gu");
const codeOrFence = /```[\s\S]*?(?:```|$)|`[^`\n]+`/g;
/** No prompt shows more documents, and no sentence needs to cite more. */
const mostCited = 100;

/**
 * The sentences of an answer that claim something, or cite a source by its number in brackets, each held against the
 * sources that it names: by words, numbers and names, in languages with and without spaces. That finds what was made up,
 * not what was turned round: a "not" changes no word.
 *
 * @param sources in the order of their numbers, with the text that the model was shown
 */
export async function findCitations(
  answer: string,
  sources: readonly { readonly content: string }[],
): Promise<Citation[]> {
  const nextSlice = createSlices();
  const passages = new Map<number, Evidence>();
  const isGerman = germanWords.intersection(new Set(words(answer))).size >= 2;
  const small = smallWords(answer);
  const found: Citation[] = [];
  let counted = 0;
  let before = 0;
  for (const { start, end, numbers } of citedSentences(answer)) {
    await nextSlice();
    const text = answer.slice(start, end).replace(mark, " ").replace(/^\s*(?:[-*+•]|\d{1,3}[.)])\s/, "");
    const claim = claimOf(text, isGerman);
    if (numbers.length === 0 && !claim.isClaim) continue;
    const shown = numbers.filter((number) => sources[number - 1] !== undefined);
    for (const number of shown) {
      await nextSlice();
      if (!passages.has(number)) passages.set(number, evidenceOf(sources[number - 1]?.content ?? ""));
    }
    const unknown = numbers.filter((number) => sources[number - 1] === undefined);
    counted += countCharacters(answer.slice(before, start));
    before = start;
    found.push({
      start: counted,
      end: counted + countCharacters(answer.slice(start, end)),
      cited: shown.length > 0,
      sources: shown,
      ...(unknown.length > 0 && { unknown }),
      verified: isSupported(claim, shown.flatMap((number) => passages.get(number) ?? []), small),
    });
  }
  return found;
}

interface CitedSentence {
  readonly start: number;
  end: number;
  /** Each once. */
  numbers: number[];
}

/** Numbers often follow the full stop: then they belong to the sentence before, unless that has some of its own. */
function citedSentences(answer: string): CitedSentence[] {
  const sentences: CitedSentence[] = [];
  const marked = answer.replace(codeOrFence, (written) => written.replace(/[[【［]/g, "·"));
  const split = splitSentences(
    marked.replace(marksBetween, (written) => " ".repeat(written.length))
      .replace(marksBeforeStop, (written) => `${written.slice(0, -2)}. `),
  );
  for (const [at, { start: said, end }] of split.entries()) {
    const gap = split[at - 1]?.end ?? 0;
    const between = marked.slice(gap, said).search(mark);
    const start = between === -1 ? said : gap + between;
    const text = marked.slice(start, end);
    const [leading] = leadingMarks.exec(text) ?? [];
    const last = sentences.at(-1);
    if (leading === undefined || last === undefined || last.numbers.length > 0) {
      sentences.push({ start, end, numbers: numbersIn(text) });
      continue;
    }
    last.numbers = numbersIn(leading);
    last.end = start + leading.trimEnd().length;
    const rest = start + leading.length;
    if (rest < end) sentences.push({ start: rest, end, numbers: numbersIn(marked.slice(rest, end)) });
  }
  return sentences;
}

function numbersIn(text: string): number[] {
  const parts = [...text.matchAll(mark)].flatMap(([marks]) => marks.split(/[,;、，]/)).slice(0, mostCited);
  return [
    ...new Set(parts.flatMap((part) => {
      const [first = 0, last = first] = (part.match(/\d+/g) ?? []).map(Number);
      const isRange = last > first && last - first < mostCited;
      return isRange ? Array.from({ length: last - first + 1 }, (_, at) => first + at) : [first, last];
    })),
  ].slice(0, mostCited);
}

type Claim = ReturnType<typeof claimOf>;

/** What a sentence says, as far as it can be looked up. */
function claimOf(text: string, isGerman: boolean) {
  const { figures: all, rest } = figuresIn(text);
  const figures = all.map(({ readings }) => readings).filter((readings) => readings.length > 0);
  const topics = [...topicsOf(rest)].filter((topic) => !hasFigure(topic));
  const isNone = /^\s*#{1,6}\s|[:?：？]["'”’»)*_]*\s*$/u.test(text);
  const isClaim = !isNone && (topics.length >= leastWords || figures.length > 0);
  return { isClaim, topics, figures, ...namesIn(rest, isGerman) };
}

type Evidence = ReturnType<typeof evidenceOf>;

/** What a passage has. */
function evidenceOf(passage: string) {
  const all = words(passage);
  return {
    stems: new Set(all.map(searchStem)),
    topics: topicsOf(passage),
    figures: new Set(
      figuresIn(passage).figures.flatMap(({ given }) => given),
    ),
    small: smallWords(passage),
  };
}

function isSupported(
  { topics, figures, names, opening }: Claim,
  passages: readonly Evidence[],
  small: ReadonlySet<string>,
): boolean {
  if (passages.length === 0 || topics.length + figures.length === 0) return false;
  const has = (word: string) => passages.some(({ stems }) => stems.has(searchStem(word)));
  const isWord = small.has(opening ?? "") || passages.some((passage) => passage.small.has(opening ?? ""));
  const isKnown = (readings: readonly string[]) =>
    readings.some((reading) => passages.some((passage) => passage.figures.has(reading)));
  if (!figures.every(isKnown) || !names.every(has)) return false;
  if (opening !== undefined && !has(opening) && !isWord) return false;
  const shared = topics.filter((topic) => passages.some((passage) => passage.topics.has(topic)));
  return shared.length >= leastShared * topics.length;
}

/** Of German, whose nouns are all written in capitals. */
const germanWords: ReadonlySet<string> = new Set(
  "der das dem den des und ist sind nicht ein eine fur mit von zu im auf wird werden".split(" "),
);

/**
 * Words in capitals, folded, but for those that carry grammar; `opening` is the first of the sentence, which is a name
 * unless it is written small somewhere. In German only one that follows another, as in "Frau Weber", can be told from a noun.
 */
function namesIn(text: string, isGerman: boolean) {
  const names: string[] = [];
  let opening: string | undefined;
  let previous = "";
  let isFirst = true;
  for (const { 0: token, index } of text.matchAll(/\p{L}[\p{L}\p{M}\p{N}]*/gu)) {
    const [word = ""] = words(token);
    const isCapital = /^\p{Lu}/u.test(token) && !hasFigure(word) && !isFunctionWord(word) &&
      !(isGerman && word === "die");
    const following = text.slice(index + token.length);
    if (isGerman) {
      if (isCapital && previous !== "" && text.endsWith(`${previous} `, index)) names.push(word);
    } else if (isCapital && !isFirst) names.push(word);
    else if (isCapital && !/^\s*[,，]/u.test(following) && !/(?:ly|ing|ed)$/.test(word)) opening = word;
    previous = isCapital ? token : "";
    isFirst = false;
  }
  return { names, opening };
}

function smallWords(text: string): Set<string> {
  return new Set(words(text.match(/(?<![\p{L}\p{M}\p{N}])\p{Ll}[\p{L}\p{M}\p{N}]*/gu)?.join(" ") ?? ""));
}
