/** One thing wrong with a file that people write, and where it stands. */
export interface Fault {
  /** The setting, as `databases[1].sslmode`; empty where the file as a whole is meant. */
  readonly path: string;
  /** Place in the file, counted from 1; absent for what did not come from the file. */
  readonly line?: number;
  readonly column?: number;
  /** What was expected and what was found; never a secret's value. */
  readonly message: string;
  /** The known key nearest to an unknown one. */
  readonly suggestion?: string;
}

/** One line for people: place, setting, what is wrong. */
export function faultText(
  { path, line, column = 1, message, suggestion }: Fault,
  place = line === undefined ? undefined : `line ${line}, column ${column}`,
): string {
  const hint = suggestion === undefined ? "" : `; did you mean "${suggestion}"?`;
  return [place, path || undefined, message + hint].filter((part) => part !== undefined).join(": ");
}
