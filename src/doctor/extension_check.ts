import type { Database } from "../postgres/database.ts";
import { type Check, error, note, warning } from "../rag_server/checks/check.ts";
import { readRows } from "../rag_server/checks/read_rows.ts";

/** Whether pgvector is there, and new enough; what needs vectors follows. */
export function extensionCheck(database: Database, next: readonly Check[]): Check {
  return {
    name: "pgvector",
    async run(signal) {
      const [row] = await readRows(database, signal, extensionSql);
      const [installed, available] = (row ?? []).map((version) => version ?? undefined);
      if (installed === undefined) return { findings: [missing(available)] };
      if (isIterative(installed)) return { findings: [note(`pgvector ${installed}`)], next };
      const update = available !== undefined && isIterative(available)
        ? "ALTER EXTENSION vector UPDATE;"
        : "-- Install pgvector 0.8 or later on the database's server\nALTER EXTENSION vector UPDATE;";
      const finding =
        `pgvector ${installed} may find too little under a filter; 0.8 looks on until it has enough`;
      return { findings: [warning(finding, update)], next };
    },
  };
}

const extensionSql = `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')`;

function missing(available: string | undefined) {
  const install = available === undefined
    ? "-- Install the package of pgvector on the database's server (Debian: postgresql-NN-pgvector)\n"
    : "";
  return error("The database does not have the extension vector", `${install}CREATE EXTENSION vector;`);
}

/** Whether an index scan can go on where a filter left too little. */
export function isIterative(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 0 || minor >= 8;
}
