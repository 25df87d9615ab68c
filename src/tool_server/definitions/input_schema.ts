import { z } from "zod";
import { isMap, type SettingPath, type ValueMap } from "../../core/document/value_tree.ts";
import type { JsonSchema } from "../tools/listed_schema.ts";
import { matchedCharacters, whySlow } from "./slow_pattern.ts";

/** The arguments of a tool that a definition describes by a JSON Schema. */
export interface ToolInput {
  /** As it was written. */
  readonly schema: JsonSchema;
  /** In their order: the first is bound to `$1`. */
  readonly names: readonly string[];
  /** Checks arguments and fills in defaults. */
  readonly type: z.ZodType<ValueMap>;
}

/** What is wrong with a schema, and where in it. */
interface SchemaFault {
  readonly path: SettingPath;
  readonly message: string;
}

const argumentName = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Reads a definition's `input_schema`; without one the tool takes no arguments. */
export function readInputSchema(written: ValueMap = {}): { input?: ToolInput; faults: SchemaFault[] } {
  const { type = "object", properties = {}, required = [] } = written;
  if (type !== "object") return { faults: [{ path: ["type"], message: "expected object" }] };
  if (!isMap(properties)) return { faults: [{ path: ["properties"], message: "expected a mapping" }] };
  const names = Object.keys(properties);
  const faults = [
    ...patternFaults(written, []),
    ...names.flatMap((name) => propertyFaults(name, properties[name], written)),
    ...requiredFaults(required, names),
  ];
  if (faults.length > 0) return { faults };
  try {
    // what there is no parameter for could have no effect
    const schema = { ...written, type, properties, additionalProperties: false };
    return {
      input: {
        schema: { ...written, type, properties },
        names,
        type: boundedTexts(names.filter((name) => hasPattern(properties[name])))
          .pipe(zodOf(schema)) as z.ZodType<ValueMap>,
      },
      faults,
    };
  } catch (error) {
    return { faults: [{ path: [], message: reasonOf(error) }] };
  }
}

function propertyFaults(name: string, property: unknown, { $defs }: ValueMap): SchemaFault[] {
  const path = ["properties", name];
  if (!argumentName.test(name)) {
    return [{ path, message: "expected a name of letters, digits, _ and -, with a letter at its start" }];
  }
  if (!isMap(property)) return [{ path, message: "expected a mapping" }];
  try {
    const schema = zodOf({ ...property, ...($defs === undefined ? {} : { $defs }) });
    const { default: value } = property;
    if (value === undefined || schema.safeParse(value).success) return [];
    return [{ path: [...path, "default"], message: "does not fit the schema that it stands in" }];
  } catch (error) {
    return [{ path, message: reasonOf(error) }];
  }
}

/** Of patterns wherever they stand; those that are no regular expressions are refused with their property. */
function patternFaults(schema: unknown, path: SettingPath): SchemaFault[] {
  if (Array.isArray(schema)) return schema.flatMap((item, index) => patternFaults(item, [...path, index]));
  if (!isMap(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    const patterns = key === "patternProperties" && isMap(value) ? Object.keys(value) : [value];
    const isPattern = key === "pattern" || key === "patternProperties";
    const reasons = !isPattern
      ? []
      : patterns.flatMap((one) => typeof one === "string" ? whySlow(one) ?? [] : []);
    return [
      ...reasons.map((message) => ({ path: [...path, key], message })),
      ...patternFaults(value, [...path, key]),
    ];
  });
}

/** What a reference leads to may have one. */
function hasPattern(schema: unknown): boolean {
  return /"(?:pattern|patternProperties|\$ref)":/.test(JSON.stringify(schema));
}

/** Looks at the texts of arguments before any pattern is tried on them. */
function boundedTexts(names: readonly string[]) {
  return z.unknown().check(({ value: args, issues }) => {
    if (!isMap(args)) return;
    for (const name of names) {
      const lengths = Object.hasOwn(args, name) ? textLengths(args[name]) : [];
      const { ofText, ofArgument } = matchedCharacters;
      const message = lengths.some((length) => length > ofText)
        ? `expected texts of ${ofText} characters at most, as they are compared with a pattern`
        : lengths.reduce((sum, length) => sum + length, 0) > ofArgument
        ? `expected ${ofArgument} characters in all at most, as they are compared with a pattern`
        : undefined;
      if (message !== undefined) issues.push({ code: "custom", input: args[name], path: [name], message });
    }
  });
}

function textLengths(value: unknown): number[] {
  if (typeof value === "string") return [value.length];
  if (Array.isArray(value)) return value.flatMap(textLengths);
  return isMap(value) ? Object.entries(value).flatMap(textLengths) : [];
}

function requiredFaults(required: unknown, names: readonly string[]): SchemaFault[] {
  if (!Array.isArray(required)) return [{ path: ["required"], message: "expected a list" }];
  return required.flatMap((name, index) =>
    names.includes(name) ? [] : [{ path: ["required", index], message: "there is no such property" }]
  );
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `cannot be used: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** @throws {Error} for what is no JSON Schema, or uses words that arguments are not checked by */
function zodOf(schema: ValueMap): z.ZodType {
  return z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema);
}
