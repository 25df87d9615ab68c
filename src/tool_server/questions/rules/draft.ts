import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import type { TableColumns } from "./table_columns.ts";
import type { Token } from "./tokens.ts";
import type { Aggregate, Direction, TimeUnit } from "./vocabulary.ts";

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

export interface AssumedDate {
  readonly column: CatalogColumn;
  readonly use: "period" | "group";
  readonly words: string;
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
  mentions: { readonly isPlural: boolean }[];
  /** Whether the row of one key is asked for. */
  isOneRow: boolean;
  /** Whether something said that rows came to be, as "placed" does. */
  saysCreation: boolean;
  /** The dates that periods and groups of time were taken to be about, where nothing said so. */
  assumedDates: AssumedDate[];
  /** Reasons to refuse although every word is known. */
  problems: string[];
}

/** A request being read against one table. */
export interface Scan {
  readonly source: string;
  readonly tokens: readonly Token[];
  readonly table: CatalogTable;
  readonly columns: TableColumns;
  /** Which recogniser took each token so far; empty for a filler. */
  readonly takenBy: string[];
  readonly draft: Draft;
}

/** Reads on from a token; returns how many tokens it took, 0 where it does not apply and changed nothing. */
export type Recogniser = (scan: Scan, at: number) => number;

export function createDraft(): Draft {
  return {
    counts: false,
    measures: [],
    groups: [],
    projection: [],
    conditions: [],
    periods: new Set(),
    mentions: [],
    isOneRow: false,
    saysCreation: false,
    assumedDates: [],
    problems: [],
  };
}

/** Whether rows are counted or measured rather than shown. */
export function isAggregated(draft: Draft): boolean {
  return draft.counts || draft.measures.length > 0 || draft.groups.length > 0;
}
