import { z } from "zod";
import { pathFields } from "./field_types.ts";
import { isMap, type SettingPath } from "../../core/yaml/value_tree.ts";

type Schema = z.core.$ZodType;

/** What is inside of `optional`, defaults and transforms: the schema of the value as it is written. */
export function writtenSchema(schema: Schema): Schema {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) {
    return writtenSchema(schema.unwrap());
  }
  return schema instanceof z.ZodPipe ? writtenSchema(schema.in) : schema;
}

/**
 * The keys of a section with their schemas, also of one that text may be written in place of; undefined where the schema
 * is of something else.
 */
export function sectionFields(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const written = writtenSchema(schema);
  const options = written instanceof z.ZodUnion ? written.options : [written];
  return options.find((option) => option instanceof z.ZodObject)?.shape;
}

/** A section's field; keys such as `constructor` are no fields, whatever JavaScript finds under them. */
export function ownField(fields: Readonly<Record<string, Schema>>, key: string): Schema | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

/** The schema of the values in a mapping of free names; undefined where the schema is of something else. */
export function recordValue(schema: Schema): Schema | undefined {
  const written = writtenSchema(schema);
  return written instanceof z.ZodRecord ? written.valueType : undefined;
}

/** The schema of a list's elements; undefined where the schema is of something else. */
export function listElement(schema: Schema): Schema | undefined {
  const written = writtenSchema(schema);
  return written instanceof z.ZodArray ? written.element : undefined;
}

/** The default as the file would write it; undefined where there is none. */
export function writtenDefault(schema: Schema): unknown {
  return schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
}

export function schemaDescription(schema: Schema): string | undefined {
  return z.globalRegistry.get(schema)?.description;
}

/** The schema at a path; undefined where the path leaves the schema. */
export function schemaAt(root: Schema, path: SettingPath): Schema | undefined {
  let current: Schema | undefined = root;
  for (const part of path) {
    if (current === undefined) return undefined;
    if (typeof part === "number") current = listElement(current);
    else {
      const fields = sectionFields(current);
      current = fields === undefined ? recordValue(current) : ownField(fields, part);
    }
  }
  return current;
}

/** The paths of files and folders that a value of the schema holds, each with its setting. Words in their place are none. */
export function* pathsIn(
  value: unknown,
  schema: Schema,
  path: SettingPath = [],
): Generator<[SettingPath, string]> {
  const written = writtenSchema(schema);
  const element = listElement(written);
  if (Array.isArray(value)) {
    if (element === undefined) return;
    for (const [at, item] of value.entries()) yield* pathsIn(item, element, [...path, at]);
  } else if (isMap(value)) {
    for (const [key, field] of Object.entries(sectionFields(written) ?? {})) {
      yield* pathsIn(value[key], field, [...path, key]);
    }
  } else if (typeof value === "string") {
    const words = pathFields.get(written)?.words;
    if (words !== undefined && !words.includes(value)) yield [path, value];
  }
}

/** Every setting that is no section of its own, with its path; the elements of a list of sections stand at `[0]`. */
export function* leafSchemas(schema: Schema, path: SettingPath = []): Generator<[SettingPath, Schema]> {
  const fields = sectionFields(schema);
  if (fields !== undefined) {
    for (const [key, field] of Object.entries(fields)) yield* leafSchemas(field, [...path, key]);
    return;
  }
  const element = listElement(schema);
  const nested = element !== undefined && sectionFields(element) !== undefined;
  if (nested && schemaDescription(schema) === undefined) yield* leafSchemas(element, [...path, 0]);
  else yield [path, schema];
}
