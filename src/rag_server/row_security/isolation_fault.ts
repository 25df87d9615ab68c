/** Why row-level security may show a caller rows of another. */
export interface IsolationFault {
  /** For operators: it names roles. */
  readonly message: string;
  /** SQL; text for the reader stands in lines that begin with `-- `. */
  readonly remedy: string;
}
