import type { Distance } from "./vector_index.ts";

/** A document that answers a question. */
export interface RetrievedDocument {
  /** As it was configured. */
  readonly table: string;
  /** Absent where the table has no id. */
  readonly id?: string;
  /** Cut off where it is longer than the search's bound. */
  readonly content: string;
  /** Of the fusion, from 0 to 1; comparable within one answer only. */
  readonly score: number;
  /** Cosine, from -1 to 1; absent where the document has no vector. */
  readonly similarity?: number;
}

/** A document with what its own table's searches say of it. */
export interface Candidate extends Omit<RetrievedDocument, "score"> {
  /** Of the whole text without the blanks around it: what says the same has the same. */
  readonly digest: string;
  /** Its place in the search by vectors, from 1; absent where that did not find it. */
  readonly nearestRank?: number;
  /** Its place in the search by words, from 1; absent where that did not find it. */
  readonly matchingRank?: number;
  /** Of the search by vectors, higher is better; absent where there is none. */
  readonly nearestScore?: number;
  /** Of the search by words, higher is better; absent where there is none. */
  readonly matchingScore?: number;
}

/** What the searches of one table found. */
export interface TableSearch {
  /** As the table's own search returned them. */
  readonly candidates: readonly Candidate[];
  /** Of all that the search by vectors found, also of what is not among the candidates. */
  readonly nearestScores: readonly number[];
  /** The same of the search by words. */
  readonly matchingScores: readonly number[];
  /** What the scores of the search by vectors tell. */
  readonly distance: Distance;
  /** How many documents each search was asked for. */
  readonly depth: number;
}
