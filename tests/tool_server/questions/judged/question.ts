/** The databases that the questions are about. */
export type QuestionSchema = "shop" | "hospital" | "erp";

/** A question as a user types it, with what a good reply to it is. */
export type Question = QuestionText & { readonly schema: QuestionSchema };

/** A question where the database is known from the file that it is in. */
export type QuestionText = AnswerableQuestion | AmbiguousQuestion;

interface AskedQuestion {
  /** Unique over all databases; its first word is the database's. */
  readonly id: string;
  readonly question: string;
  /**
   * The relations that the answer reads, `schema.name` without quotes: the prompt must hold every one of them, or all of a
   * set of `otherTables`. Of an ambiguous question: those that its readings are about.
   */
  readonly tables: readonly string[];
  /** Other sets of relations that give the same answer, where a view says in one what tables say in several. */
  readonly otherTables?: readonly (readonly string[])[];
  readonly tags?: readonly QuestionTag[];
  /** Ids of the turns that came before, oldest first; they are answerable on their own or by their own turns. */
  readonly after?: readonly string[];
}

/** Answered by rows. */
export interface AnswerableQuestion extends AskedQuestion {
  /** Made by hand and checked against the data. */
  readonly sql: string;
  /** The question asks for the rows in the statement's order. */
  readonly ordered?: true;
  readonly expects?: never;
}

/** Has several readings that give different rows, so that the right reply is a question back. */
export interface AmbiguousQuestion extends AskedQuestion {
  readonly expects: "question";
  readonly sql?: never;
}

/**
 * What makes a question what it is, for a breakdown of results.
 *
 * - `hard`: nothing in the wording leads straight to a table; needs a synonym, an abbreviation or an implied join.
 * - `value`: the wording holds a stored value. `time`: a span of time. `typo`: a misspelt word.
 * - `anti_join`, `self_join`, `ratio`, `superlative`, `view`: what the statement needs.
 * - `near_duplicate`: other tables look almost the same; only the context tells which one is meant.
 */
export type QuestionTag =
  | "hard"
  | "value"
  | "time"
  | "typo"
  | "anti_join"
  | "self_join"
  | "ratio"
  | "superlative"
  | "view"
  | "near_duplicate";
