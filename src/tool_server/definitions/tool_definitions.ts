import { z } from "zod";
import type { Fault } from "../../core/document/file_fault.ts";
import { isMap, type SettingPath } from "../../core/document/value_tree.ts";
import { builtinTools } from "../tools/tool_kinds.ts";
import { type DefinitionChecks, whyNoDatabase, whyNotRunnable } from "./check_sql.ts";
import { readInputSchema, type ToolInput } from "./input_schema.ts";
import { faultAt, readEntries, repeatedNames, type Section } from "./sections.ts";

/** A tool that runs one statement. */
export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly sql: string;
  readonly input: ToolInput;
  /** Absent: the caller's current one. */
  readonly database?: string | undefined;
  /** Rows at most; absent: as many as the database gives. */
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
export async function readTools(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ tools: ToolDefinition[]; faults: Fault[] }> {
  const { entries, faults } = readEntries(section, tool, (item, path) => codeFault(section, item, path));
  const repeated = repeatedNames(section, entries, "name");
  faults.push(...repeated.faults);
  const tools: ToolDefinition[] = [];
  for (const { value, path } of repeated.entries) {
    const { input, faults: schemaFaults } = readInputSchema(value.input_schema);
    const at = (key: string, message: string | undefined) =>
      message === undefined ? [] : [faultAt(section, [...path, key], message)];
    const found = [
      ...at(
        "name",
        builtinTools.some((name) => name === value.name) ? "is the name of a built-in tool" : undefined,
      ),
      ...schemaFaults.map((fault) =>
        faultAt(section, [...path, "input_schema", ...fault.path], fault.message)
      ),
      ...at("sql", input && await whyNotRunnable(value.sql, input.names, checks)),
      ...at("database", whyNoDatabase(value.database, checks)),
    ];
    faults.push(...found);
    if (found.length > 0 || input === undefined) continue;
    tools.push({
      name: value.name,
      title: value.title ?? titleOf(value.name),
      description: value.description,
      sql: value.sql,
      input,
      database: value.database,
      maxRows: value.max_rows,
      availableToUsers: value.available_to_users,
    });
  }
  return { tools, faults };
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
