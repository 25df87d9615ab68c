import { isFunctionWord } from "./words.ts";

/** `text` is the part of the whole from `start` up to `end`, in UTF-16 units. */
interface Sentence {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Followed by more of the same sentence, whatever comes. */
const openAbbreviations = words(
  "dr mr mrs ms mx prof st mt gen col lt sgt capt cmdr adm rev hon gov sen rep pres vs e.g i.e eg ie cf ca approx no nos " +
    "nr fig figs eq eqs sec ch vol vols pp p ed eds resp viz tel ext incl excl max min dept est art abs al z.b d.h u.a " +
    "bzw ggf vgl evtl inkl zzgl sog str hr fr frau",
);
/** May end a sentence as well. */
const otherAbbreviations = words(
  "etc inc ltd co corp llc jr sr ph.d b.sc m.sc a.m p.m usw jan feb mar apr jun jul aug sep sept oct nov dec",
);
const germanMonths = words(
  "januar februar märz april mai juni juli august september oktober november dezember",
);

const sentenceEnd = /[\p{Sentence_Terminal}…]+["'”’»)\]」』】）]*/gu;
const startsBlock = /^\s*(?:[-*+•–#|>]|\d{1,3}[.)]\s|```|---)/;
const isWholeLine = /^\s*(?:#{1,6}\s|\||```|---)/;

/** Longer lines are taken for prose that was wrapped at a column. */
const shortLine = 60;
const longestAbbreviation = 8;

/**
 * A text's sentences in order, without the blanks around them. A full stop after an abbreviation, an initial or within
 * a number ends none; headings, list items, table rows and paragraphs each end at their line's end, wrapped lines do not.
 */
export function splitSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  for (const [start, end] of blocksOf(text)) splitBlock(text, start, end, sentences);
  return sentences;
}

function* blocksOf(text: string): Iterable<readonly [number, number]> {
  let blockStart = 0;
  let lineStart = 0;
  while (lineStart < text.length) {
    const lineEnd = endOfLine(text, lineStart);
    const next = text.startsWith("\r\n", lineEnd) ? lineEnd + 2 : lineEnd + 1;
    if (next >= text.length || endsBlock(text, lineStart, lineEnd, next)) {
      yield [blockStart, lineEnd];
      blockStart = next;
    }
    lineStart = next;
  }
}

function endOfLine(text: string, from: number): number {
  const lineEnd = /[\n\r\u2028\u2029]/g;
  lineEnd.lastIndex = from;
  return lineEnd.exec(text)?.index ?? text.length;
}

function endsBlock(text: string, start: number, end: number, next: number): boolean {
  const line = text.slice(start, Math.min(end, start + shortLine + 1)).trim();
  const following = text.slice(next, next + 80);
  if (line === "" || /^[^\S\n\r]*(?:[\n\r]|$)/.test(following)) return true;
  if (startsBlock.test(following) || isWholeLine.test(line)) return true;
  return end - start <= shortLine && !/[,;:(–-]$/.test(line) && /^\s*["'“„«(]?[\p{Lu}\p{N}]/u.test(following);
}

function splitBlock(text: string, start: number, end: number, sentences: Sentence[]): void {
  const block = text.slice(start, end);
  let from = 0;
  for (const match of block.matchAll(sentenceEnd)) {
    const after = match.index + match[0].length;
    if (!endsSentence(block, from, match.index, match[0])) continue;
    push(text, start + from, start + after, sentences);
    from = after;
  }
  push(text, start + from, end, sentences);
}

function push(text: string, start: number, end: number, sentences: Sentence[]): void {
  const raw = text.slice(start, end);
  const trimmed = raw.trim();
  if (trimmed === "") return;
  const from = start + raw.length - raw.trimStart().length;
  sentences.push({ text: trimmed, start: from, end: from + trimmed.length });
}

/** @param from where the sentence began; @param at where its possible end, `mark`, stands */
function endsSentence(block: string, from: number, at: number, mark: string): boolean {
  const after = at + mark.length;
  const following = block.slice(after, after + 40);
  if (following.trim() === "") return after === block.length || following.length < 40;
  if (/^[。！？｡]/.test(mark)) return !/[」』】）]$/.test(mark) || /^\s/.test(following);
  if (!/^[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(following)) return false;
  const next = following.trimStart();
  if (/^\p{Ll}/u.test(next)) return false;
  if (mark !== ".") return true;
  return !isAbbreviated(block.slice(Math.max(from, at - longestAbbreviation - 1), at), next, at - from);
}

/** @param before what precedes the full stop; @param offset how far into its sentence the full stop is */
function isAbbreviated(before: string, next: string, offset: number): boolean {
  const word = /[\p{L}\p{N}.]+$/u.exec(before)?.[0] ?? "";
  const key = word.toLowerCase();
  const nextWord = /^["'“„«(]?([\p{L}\p{M}]+)/u.exec(next)?.[1]?.toLowerCase() ?? "";
  if (openAbbreviations.has(key) || (/^\p{L}$/u.test(word) && /^\p{L}\./u.test(next))) return true;
  if (/^\d{1,3}$/.test(word)) return offset <= 4 && before.trim() === word || germanMonths.has(nextWord);
  const mayEnd = otherAbbreviations.has(key) || /^\p{Lu}$/u.test(word) || /^(?:\p{L}\.)+\p{L}$/u.test(word);
  return mayEnd && (nextWord.length === 1 || !isFunctionWord(nextWord));
}
