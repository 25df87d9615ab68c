import { z } from "zod";
import { type DefinitionChecks, whyNoDatabase, whyNotRunnable } from "./check_sql.ts";
import { faultAt, readEntries, repeatedNames, type Section } from "./sections.ts";
import { availableToUsers, maxRows, statement } from "./tool_definitions.ts";
import type { Fault } from "../../core/yaml/file_fault.ts";

const described = {
  uri: z.string().max(1_000).regex(
    /^[a-z][a-z0-9+.-]*:\S+$/i,
    "expected an address such as custom://late-orders",
  ),
  name: z.string().trim().min(1),
  title: z.string().trim().min(1).optional(),
  description: z.string().trim().default(""),
  mimeType: z.string().regex(/^[\w.+-]+\/[\w.+-]+(;.*)?$/, "expected a type such as application/json")
    .optional(),
  available_to_users: availableToUsers,
};

const resource = z.discriminatedUnion("type", [
  z.strictObject({
    ...described,
    type: z.literal("sql"),
    sql: statement,
    database: z.string().min(1).optional(),
    max_rows: maxRows,
  }),
  z.strictObject({ ...described, type: z.literal("static"), data: z.unknown() }),
], { error: 'expected a mapping whose type is "sql" or "static"' });

/** A resource of a definitions file, as it was written. */
export type ResourceDefinition = z.output<typeof resource>;

/** Schemes of the addresses of built-in resources. */
const ownSchemes = /^(?:pg|ui|postern):/i;

/** What a definitions file's `resources` hold. A definition with a fault is left out, and leaves the others as they are. */
export async function readResources(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ resources: ResourceDefinition[]; faults: Fault[] }> {
  const { entries, faults } = readEntries(section, resource);
  const repeated = repeatedNames(section, entries, "uri");
  faults.push(...repeated.faults);
  const resources: ResourceDefinition[] = [];
  for (const { value, path } of repeated.entries) {
    const at = (key: string, message: string | undefined) =>
      message === undefined ? [] : [faultAt(section, [...path, key], message)];
    const found = [
      ...at("uri", ownSchemes.test(value.uri) ? "begins as the built-in ones do; use custom://" : undefined),
      ...(value.type === "sql"
        ? [
          ...at("sql", await whyNotRunnable(value.sql, [], checks)),
          ...at("database", whyNoDatabase(value.database, checks)),
        ]
        : at("data", value.data === undefined ? "is required" : undefined)),
    ];
    faults.push(...found);
    if (found.length === 0) resources.push(value);
  }
  return { resources, faults };
}
