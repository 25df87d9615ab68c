import { z } from "zod";
import { isMap } from "../../core/yaml/value_tree.ts";

/** A JSON Schema, of the dialect 2020-12. */
export interface JsonSchema {
  readonly type?: string;
  readonly [key: string]: unknown;
}

/**
 * A tool's input as models see it, on every turn: without what holds for each of our tools, and without bounds that no
 * sensible argument comes near. Arguments are checked by the whole schema all the same.
 */
export function listedInputSchema(input: z.ZodType): JsonSchema {
  return withoutNoise(z.toJSONSchema(input, { io: "input" })) as JsonSchema;
}

const lengths = ["minLength", "maxLength", "minItems"];

function withoutNoise(schema: unknown): unknown {
  if (!isMap(schema)) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => !isNoise(key, value));
  return Object.fromEntries(kept.map(([key, value]) => [key, inner(key, value)]));
}

function inner(key: string, value: unknown): unknown {
  // names of arguments, not words of the schema
  if (key === "properties" && isMap(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, property]) => [name, withoutNoise(property)]),
    );
  }
  if (key === "items" || key === "additionalProperties") return withoutNoise(value);
  return Array.isArray(value) && key !== "enum" && key !== "default" ? value.map(withoutNoise) : value;
}

function isNoise(key: string, value: unknown): boolean {
  if (key === "$schema" || lengths.includes(key)) return true;
  if (key === "additionalProperties") return value === false;
  return (key === "minimum" && value === 0) || (typeof value === "number" && Math.abs(value) >= 1_000_000);
}
