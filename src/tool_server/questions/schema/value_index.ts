import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { nameWords, push, wordRoot, wordWeight } from "./name_words.ts";
import { wordStem } from "../../../text/word_stem.ts";

/** A value that a column is known to hold. */
export interface ValuePlace {
  readonly table: number;
  readonly column: number;
  readonly value: string;
  /** How much of the value the key is, above 0 to 1. */
  readonly share: number;
}

/** The most words of a value by which it is found. */
export const longestValue = 5;
const valuesPerColumn = 60;
const partShare = 0.5;

/** A value in the form in which a request's words are compared with it: `in_transit` and "In transit" are one. */
export function valueKey(words: readonly string[]): string {
  return words.map(valueRoot).join(" ");
}

/** The form of one word of a {@linkcode valueKey}. */
export function valueRoot(word: string): string {
  return wordRoot(wordStem(word));
}

/** The values that a column is known to hold, by its type, its CHECK constraint or its sampled rows, each once. */
export function knownValues(column: CatalogColumn, samples: readonly string[] | undefined): string[] {
  const values = new Set([...column.labels, ...column.allowedValues, ...samples ?? []]);
  return [...values].slice(0, valuesPerColumn);
}

interface ValueKeys {
  readonly whole: string;
  /** The words of a value of several. */
  readonly parts: readonly string[];
}

const noKeys: ValueKeys = { whole: "", parts: [] };
const shortestPart = 3;

function keysOf(value: string): ValueKeys {
  const words = value.length > 100 ? [] : nameWords(value);
  if (words.length === 0 || words.length > longestValue || /^\d{0,3}$/.test(value)) return noKeys;
  const parts = words.length === 1
    ? []
    : words.filter((word) => word.length >= shortestPart && wordWeight(word) === 1);
  return { whole: valueKey(words), parts: [...new Set(parts.map((part) => valueKey([part])))] };
}

/** Finds the columns that hold a value which a request names, whole or by one of its words. */
export function createValueIndex() {
  const byKey = new Map<string, ValuePlace[]>();
  // an enumeration's labels are the same in many tables
  const known = new Map<string, ValueKeys>();

  return {
    add(table: number, column: number, values: readonly string[]): void {
      for (const value of values) {
        const keys = known.get(value) ?? keysOf(value);
        known.set(value, keys);
        if (keys.whole !== "") push(byKey, keys.whole, { table, column, value, share: 1 });
        for (const part of keys.parts) push(byKey, part, { table, column, value, share: partShare });
      }
    },
    /** Where the value stands whose {@linkcode valueKey} is given. */
    places: (key: string): readonly ValuePlace[] => byKey.get(key) ?? [],
  };
}
