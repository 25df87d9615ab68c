import type { Database } from "../postgres/database.ts";
import { type Check, warning } from "../rag_server/checks/check.ts";
import { type RelationName, relationName } from "../rag_server/checks/relation_name.ts";

/**
 * Whether the role may do more than read.
 *
 * @param tables as they are configured; all of schema `public` where there are none
 */
export function roleCheck(database: Database, tables: readonly string[] = []): Check {
  return {
    name: "role",
    async run(signal) {
      const warnings = await database.warnings(signal);
      // the sentence ends with advice; the remedy has it in full
      return { findings: warnings.map((text) => warning(text.replace(/: [^:]*$/, ""), readerSql(tables))) };
    },
  };
}

function nameOf(table: string): RelationName[] {
  const [first = "", second] = table.split(".");
  // it may be folded to small letters, which quotes would prevent
  if (/^[\w$.]+$/.test(table)) {
    return [second === undefined ? { relation: table } : { relation: table, schema: first }];
  }
  const name = relationName(table);
  return name === undefined ? [] : [name];
}

function readerSql(tables: readonly string[]): string {
  const names = tables.flatMap(nameOf);
  const schemas = new Set(names.map(({ schema = "public" }) => schema));
  const grants = tables.length === 0
    ? [
      "GRANT USAGE ON SCHEMA public TO postern_reader;",
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO postern_reader;",
    ]
    : [
      ...Array.from(schemas, (schema) => `GRANT USAGE ON SCHEMA ${schema} TO postern_reader;`),
      ...(names.length === 0
        ? []
        : [`GRANT SELECT ON ${names.map(({ relation }) => relation).join(", ")} TO postern_reader;`]),
    ];
  return [
    "CREATE ROLE postern_reader LOGIN PASSWORD '…';",
    ...grants,
    "-- Then set it as the database's user. -ingest and -index-pipeline need a role that may write.",
  ].join("\n");
}
