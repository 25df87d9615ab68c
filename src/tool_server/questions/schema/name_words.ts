import { wordStem } from "../../../text/word_stem.ts";
import { words } from "../../../text/words.ts";
import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { abbreviations } from "./abbreviations.ts";
import { wordWeight } from "./question_words.ts";
import { synonyms } from "./synonyms.ts";

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
    root = cutSuffix(cutSuffix(root, derivation, 5), inflection, 3);
  }
  return root.length > 3 ? root.replace(/([^aeious])\1$/, "$1") : root;
}

function cutSuffix(word: string, suffix: RegExp, least: number): string {
  const cut = word.replace(suffix, "");
  return cut.length < least ? word : cut;
}

/** A word's consonants behind its first letter, as short names keep them: "customer" and "cstmr" give one. */
export function skeleton(word: string): string {
  return word.slice(0, 1) + word.slice(1).replace(/[aeiou]/g, "").replace(/(.)\1+/g, "$1");
}

/** A table with the words of its names, cut once for all that looks at them. */
export interface TableWords {
  readonly table: CatalogTable;
  readonly schema: readonly string[];
  readonly name: readonly string[];
  /** One list a column, in the table's order. */
  readonly columns: readonly (readonly string[])[];
}

export function tableWords(table: CatalogTable): TableWords {
  return {
    table,
    schema: nameStems(table.schema),
    name: nameStems(table.name),
    columns: table.columns.map((column) => nameStems(column.name)),
  };
}

/** The same with words in one cut into their parts. */
export function splitCompounds(words: TableWords, split: CompoundSplitter): TableWords {
  return {
    table: words.table,
    schema: words.schema,
    name: words.name.flatMap(split),
    columns: words.columns.map((column) => column.flatMap(split)),
  };
}

/** Splits a word that is several words in one: `salesorderheader` gives the stems of sales, order, header. */
export type CompoundSplitter = (word: string) => readonly string[];

const shortestCompound = 6;
const longestCompound = 40;
const shortestPart = 3;
/** The catalog's names come first, and then the words of requests, of which there is no end. */
const mostKnown = 20_000;
/** What may be the last part though it is shorter. */
const shortSuffixes = new Set(["id", "no", "nr", "dt", "cd", "pk", "fk"]);

/**
 * Knows the words in general use and those that the catalog's names have on their own. What cannot be cut into such
 * words without a rest stays as it is.
 */
export function createCompoundSplitter(catalogWords: ReadonlySet<string>): CompoundSplitter {
  const general = generalWords();
  const split = new Map<string, readonly string[]>();

  const isWhole = (word: string): boolean => general.has(word) || wordWeight(word) < 1;

  function isPart(text: string, whole: string): boolean {
    if (text.length < shortestPart || text === whole) return false;
    return general.has(text) || general.has(wordStem(text)) || catalogWords.has(wordStem(text));
  }

  /** The fewest parts, found from each place on to the end; at most one part is as short as three letters. */
  function parts(word: string): readonly string[] {
    const best: (string[] | undefined)[] = Array.from({ length: word.length }, () => undefined);
    best.push([]);
    for (let start = word.length - 1; start >= 0; start--) {
      for (let end = word.length; end > start; end--) {
        const rest = best[end];
        if (rest === undefined || rest.length + 1 >= (best[start]?.length ?? Infinity)) continue;
        const part = word.slice(start, end);
        const fits = isPart(part, word) || (end === word.length && shortSuffixes.has(part));
        if (fits) best[start] = [part, ...rest];
      }
    }
    const found = best[0] ?? [];
    const short = found.filter((part) => part.length <= shortestPart && !shortSuffixes.has(part)).length;
    return found.length < 2 || short > 1 ? [word] : found.map(wordStem);
  }

  return (word) => {
    if (word.length < shortestCompound || word.length > longestCompound || isWhole(word)) return [word];
    const known = split.get(word);
    if (known !== undefined) return known;
    const found = parts(word);
    if (split.size < mostKnown) split.set(word, found);
    return found;
  };
}

function generalWords(): ReadonlySet<string> {
  const found = new Set([...abbreviations.keys(), ...synonyms.keys()]);
  for (const meanings of abbreviations.values()) {
    for (const meaning of meanings) meaning.split("_").forEach((word) => found.add(wordStem(word)));
  }
  for (const word of synonyms.keys()) found.add(wordStem(word));
  return found;
}
