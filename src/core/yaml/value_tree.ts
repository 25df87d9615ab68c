/** The keys and list positions that lead to a setting. */
export type SettingPath = readonly (string | number)[];

/** `["databases", 1, "sslmode"]` as `databases[1].sslmode`. */
export function formatPath(path: SettingPath): string {
  return path.map((part) => typeof part === "number" ? `[${part}]` : `.${part}`).join("").replace(/^\./, "");
}

/** What a configuration says before it is validated. */
export type ValueMap = { [key: string]: unknown };

export function isMap(value: unknown): value is ValueMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A list as it is, and for anything else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A map as it is, and for anything else an empty one. */
export function mapOf(value: unknown): ValueMap {
  return isMap(value) ? value : {};
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

/** A setting that a file has, and the map that holds it. */
interface WrittenSetting {
  readonly holder: ValueMap;
  readonly key: string;
  readonly path: SettingPath;
}

/** The settings of a tree that a pattern such as `pipelines[].top_n` stands for; `[]` is every element of a list. */
export function settingsOf(tree: ValueMap, pattern: string): WrittenSetting[] {
  const keys = pattern.split(/\.|(?=\[\])/);
  const key = keys.at(-1) ?? "";
  return holders(tree, keys.slice(0, -1), []).filter(([holder]) => Object.hasOwn(holder, key))
    .map(([holder, path]) => ({ holder, key, path: [...path, key] }));
}

/** The maps that a pattern's keys lead to, with their paths. */
function holders(value: unknown, keys: readonly string[], path: SettingPath): [ValueMap, SettingPath][] {
  const [key, ...rest] = keys;
  if (key === undefined) return isMap(value) ? [[value, path]] : [];
  if (key === "[]") {
    return Array.isArray(value) ? value.flatMap((item, index) => holders(item, rest, [...path, index])) : [];
  }
  return isMap(value) ? holders(value[key], rest, [...path, key]) : [];
}
