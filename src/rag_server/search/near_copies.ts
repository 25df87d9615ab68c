import { searchStem } from "../../text/word_stem.ts";
import { words } from "../../text/words.ts";
import type { RetrievedDocument } from "./fusion.ts";

/** Each other word spoils three runs of three words: so few leave nine tenths of them. */
const mostOther = 1 / 30;
/** Copies are as near to a question as each other, but for the words in which they differ. */
const mostApart = 0.05;
/** Where pieces of one text begin that are looked for in the other, before words are counted. */
const probes = [0.2, 0.4, 0.6, 0.8];
const probeLength = 24;
/** So much of what two texts share, on either side of where they differ, holds the words whole. */
const context = 24;

/**
 * Leaves the best one of each text and its near copies, as the same page with another heading. What differs in a number, a
 * date's too, in a word of the question, or in more than a thirtieth is no copy.
 *
 * @param documents the best first
 */
export function foldNearCopies(
  documents: readonly RetrievedDocument[],
  question: string,
): RetrievedDocument[] {
  const asked = new Set(words(question).map(searchStem));

  function isCopy(one: RetrievedDocument, other: RetrievedDocument): boolean {
    if (Math.abs((one.similarity ?? 0) - (other.similarity ?? one.similarity ?? 0)) > mostApart) return false;
    if (!mayBeCopy(one.content, other.content)) return false;
    const [own, others] = middlesOf(one.content, other.content).map(wordsIn);
    const [lost, gained] = [lackOf(own, others), lackOf(others, own)];
    const letters = Math.max(lost.join("").length, gained.join("").length);
    return letters <= mostOther * one.content.length &&
      !words([...lost, ...gained].join(" ")).some((word) =>
        /\p{N}/u.test(word) || asked.has(searchStem(word))
      );
  }

  const kept: RetrievedDocument[] = [];
  for (const document of documents) {
    const place = kept.findIndex((one) => isCopy(one, document));
    const best = kept[place];
    if (best === undefined) kept.push(document);
    else kept[place] = { ...best, copies: (best.copies ?? 0) + 1 };
  }
  return kept;
}

function mayBeCopy(one: string, other: string): boolean {
  const piece = (share: number) => one.slice(share * one.length).slice(0, probeLength);
  return Math.abs(one.length - other.length) <= 0.1 * one.length &&
    probes.filter((share) => other.includes(piece(share))).length * 2 >= probes.length;
}

/** Two texts without most of what both begin and end with. */
function middlesOf(one: string, other: string): string[] {
  const shorter = Math.min(one.length, other.length);
  let [start, end] = [0, 0];
  while (start < shorter && one[start] === other[start]) start++;
  while (end < shorter - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  return [one, other].map((text) =>
    text.slice(Math.max(0, start - context), text.length - Math.max(0, end - context))
  );
}

const wordsIn = (text: string) => Map.groupBy(text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [], (word) => word);

/** The words that one text has more often than another. */
const lackOf = (own: Words = new Map(), other: Words = new Map()) =>
  [...own].flatMap(([word, all]) => all.slice(other.get(word)?.length ?? 0));

type Words = ReturnType<typeof wordsIn>;
