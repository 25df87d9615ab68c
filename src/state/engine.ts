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

/**
 * The tables of the state, in SQL that PostgreSQL and SQLite both understand.
 *
 * `clock` has one row, which every change counts up first: so changes happen one after the other, each with a version of its
 * own, and whoever knows all up to a version can ask for what came after it. `ended` remembers for a while which records
 * are gone.
 */
export const tables = [
  "CREATE TABLE clock (version BIGINT NOT NULL)",
  "INSERT INTO clock (version) VALUES (1)",
  `CREATE TABLE records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  alias TEXT,
  part_of TEXT,
  owner TEXT,
  client TEXT,
  value TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT,
  expires_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (kind, id)
)`,
  "CREATE INDEX records_by_alias ON records (kind, alias)",
  "CREATE INDEX records_by_part ON records (part_of, kind)",
  "CREATE INDEX records_by_owner ON records (kind, owner)",
  "CREATE INDEX records_by_client ON records (client, kind)",
  "CREATE INDEX records_by_end ON records (expires_at)",
  "CREATE INDEX records_by_version ON records (version)",
  `CREATE TABLE ended (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  version BIGINT NOT NULL
)`,
  "CREATE INDEX ended_by_version ON ended (version)",
  `CREATE TABLE usage (
  caller TEXT NOT NULL,
  counted TEXT NOT NULL,
  start BIGINT NOT NULL,
  used BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (caller, counted)
)`,
  "CREATE INDEX usage_by_version ON usage (version)",
] as const;

/** Counts up with every change of the tables. */
export const layoutVersion = 1;

/** Fail where the tables are others. */
export const probes = [
  "SELECT kind, id, alias, part_of, owner, client, value, created_at, used_at, expires_at, version FROM records LIMIT 0",
  "SELECT kind, id, at, version FROM ended LIMIT 0",
  "SELECT caller, counted, start, used, version FROM usage LIMIT 0",
  "SELECT version FROM clock LIMIT 0",
] as const;
