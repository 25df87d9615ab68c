import type { Distance } from "./vector_index.ts";

/** Where a search has a document. */
export interface Standing {
  /** From 1; equal scores have the same. */
  readonly rank: number;
  /** Higher is better. */
  readonly score: number;
}

/** A document that answers a question. */
export interface RetrievedDocument {
  /** As it was configured. */
  readonly table: string;
  /** Optional: none where the table has no id. */
  readonly id?: string;
  /** Cut off where it is longer than the search's bound. */
  readonly content: string;
  /** The fusion's, from 0 to 1; comparable within one answer only. */
  readonly score: number;
  /** Cosine, from -1 to 1. Optional: none where the document has no vector. */
  readonly similarity?: number;
  /** Others that say nearly the same, and were left out for it. Optional: none where there are none. */
  readonly copies?: number;
  /** In the search by vectors. Optional: none where that did not find it. */
  readonly nearest?: Standing;
  /** In the search by words. Optional: none where that did not find it. */
  readonly matching?: Standing;
}

/** A document with what its own table's searches say of it. */
export interface Candidate extends Omit<RetrievedDocument, "score" | "copies"> {
  /** A hash of the whole text without the blanks around it: copies of a text have the same. */
  readonly digest: string;
  /** Its score in the search by vectors, higher is better. Optional. */
  readonly nearestScore?: number;
  /** Its score in the search by words, higher is better. Optional. */
  readonly matchingScore?: number;
  /**
   * Both scores of the documents nearest to it, on average, weighted by their nearness. Optional: none where one search alone
   * counts, and below the first documents.
   */
  readonly agreed?: { readonly nearestScore?: number; readonly matchingScore?: number };
}

/** The results of the searches of one table. */
export interface TableSearch {
  /** As the table's own search returned them. */
  readonly candidates: readonly Candidate[];
  /** The scores of all that the search by vectors found, whether or not they are among the candidates. */
  readonly nearestScores: readonly number[];
  /** The same of the search by words. */
  readonly matchingScores: readonly number[];
  /** The distance that the scores of the search by vectors tell. */
  readonly distance: Distance;
  /** How many documents each search was asked for. */
  readonly depth: number;
}
