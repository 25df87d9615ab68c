import type { Database } from "../../postgres/database.ts";
import { type Check, warning } from "./check.ts";

/**
 * Whether the role may do more than read.
 *
 * @param tables as SQL calls them; all of schema `public` where there are none
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

function readerSql(tables: readonly string[]): string {
  const schemas = new Set(
    tables.map((table) => table.includes(".") ? table.slice(0, table.indexOf(".")) : "public"),
  );
  const grants = tables.length === 0
    ? [
      "GRANT USAGE ON SCHEMA public TO postern_reader;",
      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO postern_reader;",
    ]
    : [
      ...Array.from(schemas, (schema) => `GRANT USAGE ON SCHEMA ${schema} TO postern_reader;`),
      `GRANT SELECT ON ${tables.join(", ")} TO postern_reader;`,
    ];
  return [
    "CREATE ROLE postern_reader LOGIN PASSWORD '…';",
    ...grants,
    "-- Then set it as the database's user. -ingest and -index-pipeline need a role that may write.",
  ].join("\n");
}
