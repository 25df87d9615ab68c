import { defined } from "../../core/defined.ts";
import { z } from "zod";
import { type DefinitionChecks, whyNoDatabase, whyNotRunnable } from "./check_sql.ts";
import { faultAt, readDistinct, type Section } from "./sections.ts";
import { builtinTools } from "../builtin_kinds.ts";
import type { JsonSchema } from "../tools/tool.ts";
import { matchedCharacters, whySlow } from "./slow_pattern.ts";
import type { Fault } from "../../core/yaml/file_fault.ts";
import { isMap, type SettingPath, type ValueMap } from "../../core/yaml/value_tree.ts";

/** A tool that runs one statement. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly sql: string;
  readonly input: ToolInput;
  /** Optional: without it, the caller's current one. */
  readonly database?: string | undefined;
  /** Rows at most. Optional: without it, as many as the database gives. */
  readonly maxRows?: number | undefined;
  /** Usernames, and `group:NAME`; empty: everyone. */
  readonly availableToUsers: readonly string[];
}

/** Text that a model or a person reads. */
export const prose = z.string().trim().min(1).max(4_000);
/** Who may use what a definition defines. */
export const availableToUsers = z.array(z.string().min(1)).default([]);
export const maxRows = z.int().min(1, "expected at least 1").max(1_000_000, "expected 1000000 at most")
  .optional();
export const statement = z.string().trim().min(1).max(100_000);

const tool = z.strictObject({
  // what every provider of models takes as the name of a function
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "expected up to 64 letters, digits, _ and -"),
  title: prose.optional(),
  description: prose,
  type: z.literal("sql", { error: 'expected "sql"' }),
  sql: statement,
  input_schema: z.record(z.string(), z.unknown()).optional(),
  database: z.string().min(1).optional(),
  max_rows: maxRows,
  available_to_users: availableToUsers,
});

/** Kinds of tools of pgEdge's server that run code in a procedural language. */
const codeKinds: readonly unknown[] = ["pl-do", "pl-func"];

/** What a definitions file's `tools` hold. A definition with a fault is left out, and leaves the others as they are. */
export function readTools(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ made: ToolDefinition[]; faults: Fault[] }> {
  return readDistinct(section, tool, "name", async (value, report): Promise<ToolDefinition | undefined> => {
    const { name, title = titleOf(name), description, sql, database, max_rows: maxRows } = value;
    const { input, faults } = readInputSchema(value.input_schema);
    if (builtinTools.some((each) => each === name)) report(["name"], "is the name of a built-in tool");
    for (const fault of faults) report(["input_schema", ...fault.path], fault.message);
    report(["sql"], input && await whyNotRunnable(sql, input.names, checks));
    report(["database"], whyNoDatabase(database, checks));
    const availableToUsers = value.available_to_users;
    return input && { name, title, description, sql, input, database, maxRows, availableToUsers };
  }, (item, path) => codeFault(section, item, path));
}

function codeFault(section: Section, item: unknown, path: SettingPath): Fault | undefined {
  const type = isMap(item) ? item["type"] : undefined;
  if (!codeKinds.includes(type)) return undefined;
  const reason =
    "runs code that may write, and Postern only reads; write the tool as one SELECT with type: sql";
  return faultAt(section, [...path, "type"], `${type} is refused: it ${reason}`);
}

/** `late_orders` as "Late orders". */
function titleOf(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The arguments of a tool that a definition describes by a JSON Schema. */
interface ToolInput {
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
    const schema = zodOf({ ...property, ...defined({ $defs }) });
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
