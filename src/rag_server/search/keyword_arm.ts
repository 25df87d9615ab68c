import type { SqlText } from "../../postgres/sql_text.ts";

export interface KeywordSearch {
  readonly question: string;
  readonly limit: number;
  /** A condition over the table's columns by their bare names; no other relation may be in its scope. */
  readonly filter: SqlText | undefined;
}

/** One statement for the rows that answer a question by its words: `id text`, `score float8`, higher is better. */
export type KeywordArm = (search: KeywordSearch) => SqlText;
