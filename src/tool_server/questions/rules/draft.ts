import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { isPlural } from "../../../text/word_stem.ts";
import { columnIndexes, type ColumnKind, columnKind, tableNames } from "./columns.ts";
import { phraseAt, skipWords, type Token, wordAt, wordSet } from "./request_tokens.ts";
import type { Aggregate, Direction, TimeUnit } from "./phrases.ts";

export interface Ordering {
  readonly column: CatalogColumn;
  readonly direction: Direction;
  /** "the cheapest": one row where the table is named in the singular. */
  readonly isSuperlative: boolean;
}

/** What has been understood of a request so far; the recognisers fill it in from left to right. */
export type Draft = ReturnType<typeof createDraft>;
export type Measure = Draft["measures"][number];
export type Grouping = Draft["groups"][number];

function createDraft() {
  return {
    counts: false,
    /** `isExact`: the request said the column's own name. */
    measures: [] as { aggregate: Aggregate; column: CatalogColumn; isExact: boolean }[],
    distinct: undefined as CatalogColumn | undefined,
    /** `unit`: a date's part that its values are cut to. */
    groups: [] as { column: CatalogColumn; unit?: TimeUnit }[],
    projection: [] as CatalogColumn[],
    /** SQL conditions that all hold. */
    conditions: [] as string[],
    /** The columns that a period was given for. */
    periods: new Set<CatalogColumn>(),
    ordering: undefined as Ordering | undefined,
    /** "top" or "bottom", until something says by what. */
    rank: undefined as Direction | undefined,
    limit: undefined as number | undefined,
    /** The date that the request speaks about, where it is not the one of a row's creation. */
    dateColumn: undefined as CatalogColumn | undefined,
    namesTable: false,
    /** Whether the table is named in the singular, be it once. */
    isSingular: false,
    /** Whether the row of one key is asked for. */
    isOneRow: false,
    /** Whether something said that rows came to be, as "placed" does. */
    saysCreation: false,
    /** The dates that periods and groups of time were taken to be about, where nothing said so. */
    assumedDates: [] as { column: CatalogColumn; use: "period" | "group"; words: string }[],
    /** Reasons to refuse although every word is known. */
    refusals: [] as string[],
  };
}

/** A request being read against one table. */
export type Scan = ReturnType<typeof createScan>;

export function createScan(source: string, tokens: readonly Token[], table: CatalogTable) {
  return {
    source,
    tokens,
    table,
    tableNames: tableNames([table]),
    ...columnIndexes(table),
    /** Which recogniser took each token so far; empty for a filler. */
    takenBy: [] as string[],
    draft: createDraft(),
  };
}

/** Reads on from a token; returns the token after what it took. Where it does not apply, it changes nothing. */
export type Recogniser = (scan: Scan, at: number) => number | undefined;

/** Whether rows are counted or measured rather than shown. */
export function isAggregated({ counts, measures, groups }: Draft): boolean {
  return counts || measures.length > 0 || groups.length > 0;
}

/** The table's name at a token. */
export function mentionAt({ tokens, tableNames }: Scan, at: number) {
  const found = phraseAt(tokens, at, tableNames, "stem");
  return found && { end: found.end, isPlural: isPlural(wordAt(tokens, found.end - 1)) };
}

/** The column that the longest phrase at a token names; undefined where it could name several. */
export function columnAt(scan: Scan, at: number, names = scan.columnNames) {
  const found = phraseAt(scan.tokens, at, names, "stem");
  const [column, other] = found?.meaning.columns ?? [];
  return found && column && !other ? { column, isExact: found.meaning.isExact, end: found.end } : undefined;
}

const beforeColumn = wordSet("the a an our of");

/**
 * The column that begins at a token, after an article, or in or after the table's name: "average order total" finds
 * `total` of `orders` and of a view `order_totals` alike.
 */
export function columnNear(scan: Scan, at: number, kinds?: readonly ColumnKind[]) {
  const first = skipWords(scan.tokens, at, beforeColumn);
  const nameEnd = mentionAt(scan, first)?.end ?? first;
  for (let place = first; place <= nameEnd; place++) {
    const match = columnAt(scan, place, scan.rankedNames);
    const isInsideName = place > first && place < nameEnd;
    if (match === undefined || kinds?.includes(columnKind(match.column)) === false) continue;
    if (!isInsideName || match.isExact) return match;
  }
  return undefined;
}
