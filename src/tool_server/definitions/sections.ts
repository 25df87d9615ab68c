import { defined } from "../../core/defined.ts";
import type { z } from "zod";
import type { Fault, PlaceOf } from "../../core/yaml/file_fault.ts";
import { formatPath, isMap, type SettingPath, valueAt } from "../../core/yaml/value_tree.ts";
import { nearestName } from "../../core/text/near_name.ts";

/** What a definitions file holds (`custom_definitions_path`): one list for each kind of definition. */
type Sections = Readonly<Record<SectionName, Section>>;

export const sectionNames = ["tools", "prompts", "resources", "questions", "models"] as const;
type SectionName = typeof sectionNames[number];

/**
 * Reads the text of a definitions file, YAML or JSON. Without `sections` the text cannot be relied on at all; a fault within
 * one leaves the others as they are.
 */
export async function readSections(text: string): Promise<{ sections?: Sections; faults: Fault[] }> {
  const { readYamlDocument } = await import("../../core/yaml/yaml_document.ts");
  const { document, faults } = readYamlDocument(text);
  if (document === undefined) return { faults };
  const { tree, place } = document;
  const section = (name: SectionName): Section => ({ name, value: tree[name], place });
  const unknown = Object.keys(isMap(tree) ? tree : {}).filter((key) =>
    !sectionNames.some((name) => name === key)
  );
  return {
    sections: {
      tools: section("tools"),
      prompts: section("prompts"),
      resources: section("resources"),
      questions: section("questions"),
      models: section("models"),
    },
    faults: [
      ...faults,
      ...unknown.map((key) => {
        const suggestion = nearestName(key, sectionNames);
        return {
          ...faultAt({ place }, [key], `unknown key; expected ${sectionNames.join(", ")}`, "key"),
          ...defined({ suggestion }),
        };
      }),
    ],
  };
}

/** One of the lists of a definitions file, as it was read. */
export interface Section {
  readonly name: string;
  /** Undefined where the file has none. */
  readonly value: unknown;
  /** Of paths from the file's top: `["tools", 0, "sql"]`. */
  readonly place: PlaceOf;
}

/** One definition that fits its schema, and where it stands: `["tools", 0]`. */
export interface Entry<T> {
  readonly value: T;
  readonly path: SettingPath;
}

/**
 * The definitions of a section. One that does not fit is a fault, and stops no other.
 * @param refuse why one is not looked at any further
 */
export function readEntries<Schema extends z.ZodType>(
  section: Section,
  schema: Schema,
  refuse: (item: unknown, path: SettingPath) => Fault | undefined = () => undefined,
): { entries: Entry<z.output<Schema>>[]; faults: Fault[] } {
  const { name, value } = section;
  if (value === undefined || value === null) return { entries: [], faults: [] };
  if (!Array.isArray(value)) return { entries: [], faults: [faultAt(section, [name], "expected a list")] };
  const entries: Entry<z.output<Schema>>[] = [];
  const faults: Fault[] = [];
  for (const [index, item] of value.entries()) {
    const path = [name, index];
    const refusal = refuse(item, path);
    if (refusal !== undefined) {
      faults.push(refusal);
      continue;
    }
    // a schema is used for a few definitions: to generate code for it takes longer
    const parsed = schema.safeParse(withoutNulls(item), { jitless: true });
    if (parsed.success) entries.push({ value: parsed.data, path });
    else faults.push(...parsed.error.issues.flatMap((issue) => issueFaults(section, path, issue, schema)));
  }
  return { entries, faults };
}

/** Takes what is wrong with a definition, and where in it; nothing where there is no message. */
export type ReportFault = (within: SettingPath, message: string | undefined) => void;

/**
 * What the definitions of a section come to. Of those that share what they are known by, `key`, the first counts. One with a
 * fault is left out, and stops no other.
 * @param make reports what is wrong with a definition that fits its schema
 * @param refuse as in readEntries()
 */
export async function readDistinct<
  Schema extends z.ZodType<Readonly<Record<Key, string>>>,
  Key extends string,
  T,
>(
  section: Section,
  schema: Schema,
  key: Key,
  make: (value: z.output<Schema>, report: ReportFault) => T | Promise<T>,
  refuse?: (item: unknown, path: SettingPath) => Fault | undefined,
): Promise<{ made: NonNullable<T>[]; faults: Fault[] }> {
  const { entries, faults } = readEntries(section, schema, refuse);
  const known = new Map<string, SettingPath>();
  const made: NonNullable<T>[] = [];
  for (const { value, path } of entries) {
    const found: Fault[] = [];
    const report: ReportFault = (within, message) => {
      if (message !== undefined) found.push(faultAt(section, [...path, ...within], message));
    };
    const first = known.get(value[key]);
    if (first !== undefined) report([key], `${formatPath(first)} already has the same`);
    else {
      known.set(value[key], path);
      const one = await make(value, report);
      if (found.length === 0 && one !== undefined && one !== null) made.push(one);
    }
    faults.push(...found);
  }
  return { made, faults };
}

/** A fault of what stands at a path from the file's top. */
export function faultAt(
  { place }: Pick<Section, "place">,
  path: SettingPath,
  message: string,
  part?: "value" | "key",
): Fault {
  const found = place(path, part);
  return {
    path: formatPath(path),
    ...(found === undefined ? {} : { line: found.line, column: found.column }),
    message,
  };
}

function issueFaults(
  section: Section,
  entry: SettingPath,
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
): Fault[] {
  const within = issue.path.filter((part) => typeof part !== "symbol");
  const path = [...entry, ...within];
  if (issue.code !== "unrecognized_keys") return [faultAt(section, path, withFound(issue, section, path))];
  const known = within.length === 0 ? knownKeys(schema) : [];
  return issue.keys.map((key) => {
    const suggestion = nearestName(key, known);
    return {
      ...faultAt(section, [...path, key], "unknown key", "key"),
      ...defined({ suggestion }),
    };
  });
}

/** A key without a value is as if it were not there. */
function withoutNulls(item: unknown): unknown {
  return isMap(item) ? Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null)) : item;
}

function knownKeys(schema: z.ZodType): string[] {
  const schemas = "options" in schema && Array.isArray(schema.options) ? schema.options : [schema];
  return schemas.flatMap(({ shape }) => isMap(shape) ? Object.keys(shape) : []);
}

function withFound(issue: z.core.$ZodIssue, { name, value }: Section, path: SettingPath): string {
  if (issue.code !== "invalid_type") return lowerFirst(issue.message);
  const found = valueAt({ [name]: value }, path);
  return found === undefined ? "is required" : `expected ${typeNames[issue.expected] ?? issue.expected}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a text",
  boolean: "true or false",
  number: "a number",
  int: "an integer",
  array: "a list",
  object: "a mapping",
  record: "a mapping",
};

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
