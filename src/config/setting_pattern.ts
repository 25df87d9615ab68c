import type { SettingPath } from "./setting_path.ts";
import { isMap, type ValueMap } from "./value_tree.ts";

/** A setting that a file has, and the map that holds it. */
export interface WrittenSetting {
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
