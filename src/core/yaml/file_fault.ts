import { formatPath, type SettingPath } from "./value_tree.ts";

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

/** Where in a file a setting is written. */
export interface Place {
  /** The setting's name there, where it is another than its own. */
  readonly path?: string;
  readonly line: number;
  readonly column: number;
}

/** Where a path's value, or its key, is written; else the nearest thing around it that is. */
export type PlaceOf = (path: SettingPath, part?: "value" | "key") => Place | undefined;

/** A setting and its line, as warnings name it: `http.address (line 3)`. */
export function settingAt(path: SettingPath, place: PlaceOf): string {
  const { line, path: name = formatPath(path) } = place(path) ?? {};
  return `${name}${line === undefined ? "" : ` (line ${line})`}`;
}
