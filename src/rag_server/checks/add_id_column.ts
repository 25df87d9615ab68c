import { quoteIdentifier } from "../../postgres/sql_text.ts";
import type { TableFacts } from "./table_facts.ts";

/** SQL for a column that numbers the rows of a table, or words where only another relation can have it. */
export function addIdColumn({ relation, kind, hasPrimaryKey }: TableFacts, name: string): string {
  const column = quoteIdentifier(name);
  switch (kind) {
    case "r":
      return `ALTER TABLE ${relation} ADD COLUMN ${column} bigint GENERATED ALWAYS AS IDENTITY ${
        hasPrimaryKey ? "UNIQUE" : "PRIMARY KEY"
      };`;
    // before PostgreSQL 17 it takes no identity column, and an index on this column alone is not unique in any version
    case "p":
      return `ALTER TABLE ${relation} ADD COLUMN ${column} bigserial;\nCREATE INDEX ON ${relation} (${column});`;
    default:
      return `-- To add it, change what ${relation} reads`;
  }
}
