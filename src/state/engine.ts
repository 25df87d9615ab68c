/** A value in a statement: no text of ours holds U+0000, which PostgreSQL takes none of. */
export type StateValue = string | number | null;

/** An SQL statement that PostgreSQL and SQLite both understand, with its values between the parts of its text. */
export interface Statement {
  readonly text: readonly string[];
  readonly values: readonly StateValue[];
}

/** By column. A whole number may come as text. */
export type StateRow = Readonly<Record<string, unknown>>;

export interface RunOptions {
  /** Whether the statements change nothing. */
  readonly onlyReads?: boolean;
  /** Whether a power cut may take it back: then SQLite does not wait for the disk, nor long for another process. */
  readonly mayBeLost?: boolean;
  /** Whether what it deletes is not to be left anywhere in the engine's files. */
  readonly erases?: boolean;
  /** Whether other servers are to learn of it at once. */
  readonly isTold?: boolean;
}

/** Where the state is kept. */
export interface StateEngine extends AsyncDisposable {
  /** What it is, in messages: a file's path, or a database. */
  readonly name: string;
  /**
   * Whether other servers use it. Then what cannot be kept is refused: kept here alone, it would be good at one server and
   * unknown at the others.
   */
  readonly isShared: boolean;
  /**
   * Runs statements in one transaction: all or none.
   *
   * @returns the rows of each statement
   * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where it cannot be reached; what the engine throws
   */
  run(statements: readonly Statement[], options?: RunOptions): Promise<readonly (readonly StateRow[])[]>;
  /**
   * Calls back when another server may have changed something.
   * @param listener `isAnew`: it was out of reach, and may have lost what was written last, as a standby that took over
   */
  onChanged(listener: (isAnew: boolean) => void): void;
  /** Milliseconds since 1970, by the clock that all who use it share. */
  now(): number;
}

/** What callers are told while it cannot be reached; where it is, they need not know. */
export const stateIsAway = "Cannot answer now: what the servers share cannot be reached";

/**
 * A statement from a template: `sql\`DELETE FROM records WHERE id = ${id}\``. A value may be a list, for `IN (…)`, or a part of
 * a statement that was made in this way too.
 */
export function sql(
  text: readonly string[],
  ...values: readonly (StateValue | readonly StateValue[] | Statement)[]
): Statement {
  const whole: { text: string[]; values: StateValue[] } = { text: [text[0] ?? ""], values: [] };
  const append = (part: string) => void (whole.text[whole.text.length - 1] += part);
  const add = (value: StateValue) => {
    whole.values.push(value);
    whole.text.push("");
  };
  values.forEach((value, at) => {
    if (value === null || typeof value !== "object") add(value);
    else if ("text" in value) {
      value.text.forEach((part, index) => {
        append(part);
        const inner = value.values[index];
        if (inner !== undefined) add(inner);
      });
    } else {
      // of an empty list nothing is one
      (value.length === 0 ? [null] : value).forEach((each, index) => {
        if (index > 0) append(", ");
        add(each);
      });
    }
    append(text[at + 1] ?? "");
  });
  return whole;
}
