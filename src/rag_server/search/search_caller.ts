/** For whom the database is asked. */
export interface SearchCaller {
  readonly signal: AbortSignal;
  /** The client's, where it is known. */
  readonly address?: string;
}
