import type { SettingPath } from "./setting_path.ts";

/** What a configuration says before it is validated. */
export type ValueMap = { [key: string]: unknown };

export function isMap(value: unknown): value is ValueMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined where the path leads nowhere. */
export function valueAt(tree: unknown, path: SettingPath): unknown {
  let current = tree;
  for (const part of path) {
    if (Array.isArray(current) && typeof part === "number") current = current[part];
    else if (isMap(current) && Object.hasOwn(current, part)) current = current[part];
    else return undefined;
  }
  return current;
}

/**
 * Puts a value at a path and makes the maps that lead to it. A list or text in the way stays as it is: it is a fault
 * of the file that validation reports.
 */
export function putValue(tree: ValueMap, path: SettingPath, value: unknown): void {
  let current: unknown = tree;
  for (const part of path.slice(0, -1)) {
    if (isMap(current)) current = current[part] ??= {};
    else current = Array.isArray(current) && typeof part === "number" ? current[part] : undefined;
  }
  const last = path.at(-1);
  if (isMap(current) && last !== undefined) current[last] = value;
}
