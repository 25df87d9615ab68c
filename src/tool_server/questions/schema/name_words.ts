import { words } from "../../../text/words.ts";
import { wordStem } from "../../../text/word_stem.ts";

/**
 * The words of an identifier or of a text that may hold identifiers, folded: `order_lines`, `orderLines`, `OrderLines2`
 * and "Order Lines" give `order`, `lines`.
 */
export function nameWords(text: string): string[] {
  const split = text
    .replace(/(?<=\p{Ll}{2}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{Ll}{2})(?=\p{N})/gu, " ");
  return words(split);
}

/** The words of a name, each as the stem under which it is found. */
export function nameStems(text: string): string[] {
  return nameWords(text).map(wordStem);
}

const inflection = /(?:ments?|ings?|ations?|ions?|ees?|ed|ies|al|ly|y|ie|es|e|s)$/;
// only of longer words: an order is nobody who ords
const derivation = /(?:ers?|ors?|ances?|ences?|ives?|ity|able|ships?)$/;

/**
 * What a noun and the verb beside it have in common: "payment" and "paying", "shipped" and "shipment", "insurer" and
 * "insurance". Coarser than {@linkcode wordStem}, so a match by it counts for less.
 */
export function wordRoot(word: string): string {
  let root = word;
  for (let pass = 0; pass < 2; pass++) {
    root = cutEnding(cutEnding(root, derivation, 5), inflection, 3);
  }
  return root.length > 3 ? root.replace(/([^aeious])\1$/, "$1") : root;
}

function cutEnding(word: string, ending: RegExp, least: number): string {
  const cut = word.replace(ending, "");
  return cut.length < least ? word : cut;
}

/** A word's consonants behind its first letter, as short names keep them: "customer" and "cstmr" give one. */
export function skeleton(word: string): string {
  return word.slice(0, 1) + word.slice(1).replace(/[aeiou]/g, "").replace(/(.)\1+/g, "$1");
}
