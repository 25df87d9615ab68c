import { emptyLists, pathFields, toggleFromText } from "./field_types.ts";
import { listElement, ownField, recordValue, sectionFields, writtenSchema } from "./schema_walk.ts";
import { isAbsolute, join, resolve } from "node:path";
import { z } from "zod";
import { isMap, type SettingPath, type ValueMap } from "../../core/yaml/value_tree.ts";

interface NormalizeOptions {
  /** What relative paths are relative to. */
  readonly folder: string;
  /** What `~` stands for. */
  readonly home?: string | undefined;
  /** A scalar as it is written; without it numbers are written out again. */
  readonly sourceText?: (path: SettingPath) => string | undefined;
}

/**
 * Brings what was written to the form that the schema validates, with the meaning that the two Go programs give it:
 * an empty value is the same as none, a number where text is expected is its digits, `yes` and `on` are true, a word of
 * a choice may be in any case. Paths become absolute. What does not fit stays as it is, for validation to report.
 */
export function normalizeTree(
  value: unknown,
  schema: z.core.$ZodType,
  options: NormalizeOptions,
  path: SettingPath = [],
): unknown {
  const written = writtenSchema(schema);
  if (isMap(value)) return normalizeMap(value, written, options, path);
  const element = listElement(written);
  if (Array.isArray(value) && element !== undefined) {
    return value.map((item, index) => normalizeTree(item, element, options, [...path, index]));
  }
  if (written instanceof z.ZodBoolean && typeof value === "string") return toggleFromText(value) ?? value;
  if (written instanceof z.ZodEnum) return chosenWord(value, written.options.map(String)) ?? value;
  if (!(written instanceof z.ZodString)) return value;
  const isOtherScalar = typeof value === "number" || typeof value === "boolean";
  const text = isOtherScalar ? options.sourceText?.(path) ?? String(value) : value;
  const pathField = pathFields.get(written);
  if (pathField === undefined || typeof text !== "string" || pathField.words.includes(text)) return text;
  return absolutePath(text, options);
}

function normalizeMap(
  map: ValueMap,
  written: z.core.$ZodType,
  options: NormalizeOptions,
  path: SettingPath,
): ValueMap {
  const fields = sectionFields(written);
  const entries = Object.entries(map).flatMap(([key, item]): [string, unknown][] => {
    const schema = fields === undefined ? recordValue(written) : ownField(fields, key);
    if (schema === undefined) return [[key, item]];
    // in a mapping of free names an empty text is a value like any other
    if (fields === undefined) return [[key, normalizeTree(item ?? "", schema, options, [...path, key])]];
    const shape = writtenSchema(schema);
    if (shape instanceof z.ZodUnknown) return [[key, item]];
    // a filter in which nothing is left is a mistake: without one all rows would take part
    const mayVanish = !(isMap(item) && shape instanceof z.ZodUnion) && !emptyLists.has(shape);
    if (mayVanish && isEmpty(item)) return [];
    const entry = normalizeTree(item, schema, options, [...path, key]);
    return mayVanish && isEmpty(entry) ? [] : [[key, entry]];
  });
  return Object.fromEntries(entries);
}

/** Nothing, an empty text or list, a section in which nothing is set. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value ?? {}).length === 0;
}

function absolutePath(text: string, { folder, home }: NormalizeOptions): string {
  if (home !== undefined && (text === "~" || text.startsWith("~/"))) return join(home, text.slice(1));
  return isAbsolute(text) ? text : resolve(folder, text);
}

function chosenWord(value: unknown, words: readonly string[]): string | undefined {
  if (typeof value !== "string") return undefined;
  return words.find((word) => word.toLowerCase() === value.toLowerCase());
}
