/** A request that was answered, and what the answer was made with. Rows are never part of it. */
export interface Turn {
  readonly database: string;
  readonly question: string;
  readonly reply:
    | { readonly kind: "statement"; readonly sql: string }
    | { readonly kind: "question"; readonly text: string };
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * What callers asked lately, so that a request may refer to the last ones. Of each owner it keeps the last
 * `turnsPerOwner` turns, over all databases, for `turnLifetimeMs`. A memory that fails must not fail the question:
 * only `forget` throws.
 */
export interface TurnStore extends Disposable {
  /** Those about one database, oldest first. */
  recent(owner: string, database: string): readonly Turn[];
  /** Another number after each `forget` of the owner. */
  generation(owner: string): number;
  /**
   * Keeps nothing of a turn with a text above `maxTurnText`: half a statement would mislead whoever reads it. Nor of one
   * whose request began in another generation: the owner has since had what was asked forgotten.
   */
  add(owner: string, turn: Turn, generation: number): void;
  /**
   * Removes an owner's turns about all databases and returns how many there were.
   * @throws {AppError} `unavailable` where they may still be there
   */
  forget(owner: string): number;
  /** Removes what has outlived `turnLifetimeMs`, whoever's it is. */
  clearExpired(): void;
}

export const turnsPerOwner = 20;
export const turnLifetimeMs = 24 * 60 * 60 * 1000;
/** Longest question and longest reply that is kept, in UTF-16 units. */
export const maxTurnText = 8192;

/** A reply's statement or question back. */
export function replyText({ reply }: Turn): string {
  return reply.kind === "statement" ? reply.sql : reply.text;
}

/** Whether a turn is small enough to be kept. */
export function isKept(turn: Turn): boolean {
  return turn.question.length <= maxTurnText && replyText(turn).length <= maxTurnText;
}
