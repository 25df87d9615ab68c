import { formatPath, type SettingPath } from "./value_tree.ts";

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
