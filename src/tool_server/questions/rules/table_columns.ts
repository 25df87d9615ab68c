import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";

export interface ColumnMatch {
  readonly column: CatalogColumn;
  readonly length: number;
  /** Whether the request said the column's own name, not a part of it or of its comment. */
  readonly isExact: boolean;
}

/** Several columns that the same words could mean. */
export interface AmbiguousColumn {
  readonly names: readonly string[];
  readonly length: number;
}

/** Finds a table's columns in a request. */
export interface TableColumns {
  /** The column that the longest phrase from `at` on names. */
  at(tokens: readonly Token[], at: number): ColumnMatch | AmbiguousColumn | undefined;
  /** A column that refers to another table, named without its "id": "customer" for `customer_id`. */
  referenceAt(tokens: readonly Token[], at: number): ColumnMatch | undefined;
}

const longestName = 5;
type Names = Map<string, CatalogColumn[]>;

const stems = (words: readonly string[]): string => words.map(wordStem).join(" ");

/** Without the table's own name before it and without "is" or "has" before a flag. */
function shortName(column: CatalogColumn, table: CatalogTable): string {
  const words = identifierWords(column.name);
  const first = words[0] ?? "";
  if (columnKind(column) === "flag" && (first === "is" || first === "has")) return stems(words.slice(1));
  const tableStems = stems(identifierWords(table.name));
  const nameStems = stems(words);
  return nameStems.startsWith(`${tableStems} `) ? nameStems.slice(tableStems.length + 1) : "";
}

/** The name's last words: "price" for `unit_price`. A unit such as `price_cents` never loses its last word. */
function lastWords(column: CatalogColumn): string[] {
  const words = identifierWords(column.name);
  return words.slice(1).map((_, index) => stems(words.slice(index + 1)))
    .filter((name) => !["id", "at", "on", "by", "no"].includes(name));
}

/** What a comment begins with, up to its first mark or preposition, where that is a phrase of up to three words. */
function commentHead(column: CatalogColumn): string {
  const head = column.comment.toLowerCase().split(
    /[.,;:()]|\b(?:in|of|for|per|by|from|to|when|that|as|at|on|with)\b/,
  )[0];
  const words = identifierWords(head ?? "").filter((word) => word !== "the" && word !== "a" && word !== "an");
  const tellsUnit = /\bcents?\b/i.test(column.comment);
  return words.length === 0 || words.length > 3 || tellsUnit ? "" : stems(words);
}

function collect(
  columns: readonly CatalogColumn[],
  namesOf: (column: CatalogColumn) => readonly string[],
): Names {
  const names: Names = new Map();
  for (const column of columns) {
    for (const name of new Set(namesOf(column))) {
      if (name !== "") names.set(name, [...names.get(name) ?? [], column]);
    }
  }
  return names;
}

function referenceName(column: CatalogColumn): string {
  const words = identifierWords(column.name);
  if (words.length > 1 && words.at(-1) === "id") return stems(words.slice(0, -1));
  return column.reference === "" ? "" : stems(words);
}

/** Prepares a table's columns: their names first, then parts of names, then what their comments begin with. */
export function createTableColumns(table: CatalogTable): TableColumns {
  const { columns } = table;
  const tiers = [
    collect(columns, (column) => [stems(identifierWords(column.name))]),
    collect(columns, (column) => [shortName(column, table)]),
    collect(columns, lastWords),
    collect(columns, (column) => [commentHead(column)]),
  ];
  const references = collect(columns, (column) => [referenceName(column)]);

  function phrase(tokens: readonly Token[], at: number, length: number): string {
    const part = tokens.slice(at, at + length);
    return part.length === length && part.every(({ kind }) => kind === "word")
      ? part.map(({ stem }) => stem).join(" ")
      : "";
  }

  return {
    at(tokens, at) {
      for (let length = longestName; length > 0; length--) {
        const name = phrase(tokens, at, length);
        for (const [tier, names] of tiers.entries()) {
          const found = names.get(name) ?? [];
          const column = found[0];
          if (column === undefined) continue;
          return found.length === 1
            ? { column, length, isExact: tier === 0 }
            : { names: found.map(({ name }) => name), length };
        }
      }
      return undefined;
    },
    referenceAt(tokens, at) {
      for (let length = longestName; length > 0; length--) {
        const column = references.get(phrase(tokens, at, length))?.[0];
        if (column !== undefined) return { column, length, isExact: false };
      }
      return undefined;
    },
  };
}
