import { wordStem } from "../../../text/word_stem.ts";
import { words } from "../../../text/words.ts";
import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { abbreviations, synonyms } from "./synonyms.ts";

/**
 * The words of an identifier or of a text that may hold identifiers, folded: `order_lines`, `orderLines`, `OrderLines2`
 * and "Order Lines" give `order`, `lines`.
 */
export function nameWords(text: string): string[] {
  const split = text
    .replace(/(?<=\p{Ll}{2}|\p{N})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{Ll}{2})(?=\p{N})/gu, " ");
  return words(split);
}

/** Puts a value at the end of a key's list. */
export function push<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
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

/** Words that say nothing about a table, wherever they stand. */
const functionWords = new Set(
  `a about after again against ago all also am an and any anyone anything are as ask at be because been before being
   both but by can could did do does doing done during each else ever every everyone few for from get gets getting
   give given gives go goes gone got had has have having he hello help her here hers hey hi him his how i if in
   into is it its just kindly know let lets like make many may me might mine more most much must my need no nor not
   now of off ok on once one ones only onto or other our ours out over own per please same see seen she should
   show shows so some someone something still such tell than thank thanks that the their them then there these they
   thing things this those through to too toward under until up upon us use used using very want wants was we were
   what when where whether which while who whom whose why will with within without would yes yet you your yours
   across among around between besides broken down based compared currently display exactly fetch find
   two three four five six seven eight nine ten according simply really actually
   grouped respectively retrieve return sorted ordered versus via vs
   der die das und oder wie viele was ist sind den dem ein eine einen fur mit von zu im je pro zeige alle
   le la les un une des et ou que qui combien de du dans par pour avec el los las una y o cuantos cual con por para`
    .split(/\s+/),
);

/** Words that say how to compute or when; they may be part of a name too, and then count a little. */
const operationWords = new Set(
  `count number total sum average mean median maximum minimum max min avg top bottom first last latest recent recently
   newest oldest highest lowest most least best worst largest biggest smallest greatest longest shortest fewest
   distinct different unique percentage percent ratio share rank ranking list group sort order compare comparison
   date time day daily week weekly month monthly quarter quarterly year yearly annual hour hourly today yesterday
   tomorrow current previous next past since until ago between above below greater less fewer equal
   table tables row rows column columns record records entry entries field fields data database schema value values
   name names type id ids`.split(/\s+/),
);

const partOfOperations = 0.35;

/** How much a request's word says about which tables it means: 0, a little, or 1. */
export function wordWeight(word: string): number {
  if (functionWords.has(word) || (word.length < 3 && [...word].length < 2)) return 0;
  return operationWords.has(word) || /^\p{N}/u.test(word) ? partOfOperations : 1;
}
