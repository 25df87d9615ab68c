import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { isPlural } from "../../../text/word_stem.ts";
import {
  type ColumnKind,
  columnKind,
  columnNames,
  conceptColumn,
  conceptWords,
  isOrderable,
  type NamedColumns,
  referenceNames,
  tableNames,
} from "./columns.ts";
import { phraseAt, type PhraseTable, skipWords, type Token, wordAt, wordSet } from "./request_tokens.ts";
import type { Aggregate, Direction, TimeUnit } from "./phrases.ts";

export interface Measure {
  readonly aggregate: Aggregate;
  readonly column: CatalogColumn;
  /** Whether the request said the column's own name. */
  readonly isExact: boolean;
}

export interface Grouping {
  readonly column: CatalogColumn;
  /** A date's part that its values are cut to. */
  readonly unit?: TimeUnit;
}

export interface Ordering {
  readonly column: CatalogColumn;
  readonly direction: Direction;
  /** "the cheapest": one row where the table is named in the singular. */
  readonly isSuperlative: boolean;
}

/** What has been understood of a request so far; the recognisers fill it in from left to right. */
export interface Draft {
  counts: boolean;
  measures: Measure[];
  distinct?: CatalogColumn;
  groups: Grouping[];
  projection: CatalogColumn[];
  /** SQL conditions that all hold. */
  conditions: string[];
  /** The columns that a period was given for. */
  periods: Set<CatalogColumn>;
  ordering?: Ordering;
  /** "top" or "bottom", until something says by what. */
  rank?: Direction;
  limit?: number;
  /** The date that the request speaks about, where it is not the one of a row's creation. */
  dateColumn?: CatalogColumn;
  namesTable: boolean;
  /** Whether the table is named in the singular, be it once. */
  isSingular: boolean;
  /** Whether the row of one key is asked for. */
  isOneRow: boolean;
  /** Whether something said that rows came to be, as "placed" does. */
  saysCreation: boolean;
  /** The dates that periods and groups of time were taken to be about, where nothing said so. */
  assumedDates: { column: CatalogColumn; use: "period" | "group"; words: string }[];
  /** Reasons to refuse although every word is known. */
  refusals: string[];
}

/** A request being read against one table. */
export interface Scan {
  readonly source: string;
  readonly tokens: readonly Token[];
  readonly table: CatalogTable;
  readonly tableNames: PhraseTable<unknown>;
  readonly columnNames: PhraseTable<NamedColumns>;
  readonly referenceNames: PhraseTable<NamedColumns>;
  /** Which recogniser took each token so far; empty for a filler. */
  readonly takenBy: string[];
  readonly draft: Draft;
}

/** Reads on from a token; returns the token after what it took. Where it does not apply, it changes nothing. */
export type Recogniser = (scan: Scan, at: number) => number | undefined;

export function createScan(source: string, tokens: readonly Token[], table: CatalogTable): Scan {
  return {
    source,
    tokens,
    table,
    tableNames: tableNames([table]),
    columnNames: columnNames(table),
    referenceNames: referenceNames(table),
    takenBy: [],
    draft: {
      counts: false,
      measures: [],
      groups: [],
      projection: [],
      conditions: [],
      periods: new Set(),
      namesTable: false,
      isSingular: false,
      isOneRow: false,
      saysCreation: false,
      assumedDates: [],
      refusals: [],
    },
  };
}

/** Whether rows are counted or measured rather than shown. */
export function isAggregated({ counts, measures, groups }: Draft): boolean {
  return counts || measures.length > 0 || groups.length > 0;
}

/** The table's name at a token. */
export function mentionAt(
  { tokens, tableNames }: Scan,
  at: number,
): { end: number; isPlural: boolean } | undefined {
  const found = phraseAt(tokens, at, tableNames, "stem");
  return found && { end: found.end, isPlural: isPlural(wordAt(tokens, found.end - 1)) };
}

/** A column of the table, and the token after the words that name it. */
export interface ColumnMatch {
  readonly column: CatalogColumn;
  readonly isExact: boolean;
  readonly end: number;
}

/** The column that the longest phrase at a token names; undefined where it could name several. */
export function columnAt({ tokens, columnNames }: Scan, at: number): ColumnMatch | undefined {
  const found = phraseAt(tokens, at, columnNames, "stem");
  const [column, other] = found?.meaning.columns ?? [];
  return found && column && !other ? { column, isExact: found.meaning.isExact, end: found.end } : undefined;
}

/** The column named at a token, be it by its name or by a concept such as "revenue" or "cost". */
export function measuredColumnAt(scan: Scan, at: number, use: "order" | "compare"): ColumnMatch | undefined {
  if (phraseAt(scan.tokens, at, scan.columnNames, "stem") !== undefined) {
    const match = columnAt(scan, at);
    return match && (use === "compare" || isOrderable(match.column)) ? match : undefined;
  }
  const concept = phraseAt(scan.tokens, at, conceptWords, "stem");
  const column = concept && conceptColumn(scan.table.columns, concept.meaning, use);
  return column && { column, isExact: false, end: concept.end };
}

/** The same, or the "customer" that `customer_id` refers to. */
export function measuredOrReferenceAt(
  scan: Scan,
  at: number,
  use: "order" | "compare",
): ColumnMatch | undefined {
  const measured = measuredColumnAt(scan, at, use);
  const found = measured ? undefined : phraseAt(scan.tokens, at, scan.referenceNames, "stem");
  const column = found?.meaning.columns[0];
  return measured ?? (found && column && { column, isExact: false, end: found.end });
}

const beforeColumn = wordSet("the a an our of");

/**
 * The column that begins at a token, after an article, or in or after the table's name: "average order total" finds
 * `total` of `orders` and of a view `order_totals` alike.
 */
export function columnNear(scan: Scan, at: number, kinds?: readonly ColumnKind[]): ColumnMatch | undefined {
  const first = skipWords(scan.tokens, at, beforeColumn);
  const nameEnd = mentionAt(scan, first)?.end ?? first;
  for (let place = first; place <= nameEnd; place++) {
    const match = measuredColumnAt(scan, place, "order");
    const isInsideName = place > first && place < nameEnd;
    if (match === undefined || kinds?.includes(columnKind(match.column)) === false) continue;
    if (!isInsideName || match.isExact) return match;
  }
  return undefined;
}
