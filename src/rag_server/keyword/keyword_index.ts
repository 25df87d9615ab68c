import type { SqlText } from "../../postgres/sql_text.ts";

/** What can rank a table's rows by the words of a question, as `findKeywordIndex` found it. Names are quoted for SQL. */
export type KeywordIndex = OwnIndex | TextSearchIndex | PgSearchIndex | VchordIndex | PlainText;

interface KeywordSource {
  /** Qualified. */
  readonly table: string;
  readonly idColumn: string;
  readonly textColumn: string;
}

/** Postern's own. */
export interface OwnIndex extends KeywordSource {
  readonly kind: "postern";
  readonly id: number;
  /** The text search configuration, with its schema; undefined where each row has its own. */
  readonly config: string | undefined;
  readonly hasRowSecurity: boolean;
  /** Documents at the last refresh. */
  readonly documents: number;
  /** The share of the documents that came or went since, as far as the planner's statistics tell; from 0. */
  readonly staleness: number;
}

/** An index of the extension pg_textsearch. */
export interface TextSearchIndex extends KeywordSource {
  readonly kind: "pg_textsearch";
  /** The extension's. */
  readonly schema: string;
  /** Qualified. */
  readonly index: string;
}

/** An index of the extension pg_search. */
export interface PgSearchIndex extends KeywordSource {
  readonly kind: "pg_search";
  /** The column that the index knows its rows by. */
  readonly keyField: string;
  /** The text column's name as the index has it, not quoted. */
  readonly field: string;
  /** Whether the extension has the operators of its second interface (`|||`, `pdb.score`). */
  readonly hasMatchOperator: boolean;
}

/** An index of the extension vchord_bm25. */
export interface VchordIndex extends KeywordSource {
  readonly kind: "vchord_bm25";
  readonly index: string;
  readonly vectorColumn: string;
  readonly tokenizer: string;
}

/** No index by relevance: what matches any word is ranked when it is asked for. */
export interface PlainText extends KeywordSource {
  readonly kind: "tsvector";
  readonly config: string;
  /** A `tsvector` column of the text, or the expression that a GIN index holds; undefined where there is none. */
  readonly vector: string | undefined;
}

export interface KeywordQuestion {
  readonly question: string;
  /** At most 400. */
  readonly limit: number;
  /** A condition on the table, which it names as `source`, or not at all. */
  readonly filter?: SqlText;
}
