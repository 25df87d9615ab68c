import { serverItself } from "../core/principal.ts";
import { readCatalog } from "../postgres/catalog/catalog.ts";
import type { Database } from "../postgres/database.ts";
import { quoteIdentifier } from "../postgres/sql_text.ts";
import { type Check, note, readRows, warning } from "../rag_server/checks/check.ts";

/** Which extensions there are, and which of them have a newer version on the server. */
export function extensionsCheck(database: Database): Check {
  return {
    name: "extensions",
    async run(signal) {
      const rows = await readRows(database, signal, extensionsSql);
      const installed = rows.map(([name, version]) => `${name} ${version}`).join(", ");
      const old = rows.filter(([, , isOld]) => isOld === "t");
      return [
        note(installed === "" ? "none" : installed),
        ...old.map(([name, version, , newest]) =>
          warning(
            `Extension ${name} is at ${version}, and the server has ${newest}`,
            `ALTER EXTENSION ${quoteIdentifier(name ?? "")} UPDATE;`,
          )
        ),
      ];
    },
  };
}

const extensionsSql = `SELECT e.extname, e.extversion,
    a.default_version IS NOT NULL AND a.default_version <> e.extversion, a.default_version
  FROM pg_extension e LEFT JOIN pg_available_extensions a ON a.name = e.extname
  WHERE e.extname <> 'plpgsql' ORDER BY e.extname`;

const namedTables = 5;

/** Whether the planner knows the tables that the role may read. */
export function statisticsCheck(database: Database): Check {
  return {
    name: "statistics",
    async run(signal) {
      const rows = await readRows(database, signal, neverAnalysedSql);
      if (rows.length === 0) return [];
      const names = rows.slice(0, namedTables).map(([name]) => name ?? "");
      const others = rows.length - names.length;
      const more = others > 0 ? ` and ${others} more` : "";
      return [warning(
        `PostgreSQL has never looked at the rows of ${
          names.join(", ")
        }${more}: it may choose slow plans, and estimates ` +
          "of costs and rows are guesses",
        `${names.map((name) => `ANALYZE ${name};`).join("\n")}${
          others > 0 ? "\n-- All tables: vacuumdb --analyze-only DATABASE" : ""
        }`,
      )];
    },
  };
}

// -1 from PostgreSQL 14 on; before that a table without statistics has no pages
const neverAnalysedSql = `SELECT format('%I.%I', n.nspname, c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'postern')
    AND (c.reltuples < 0 OR c.reltuples = 0 AND c.relpages = 0)
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND pg_relation_size(c.oid) > 0
  ORDER BY pg_relation_size(c.oid) DESC, 1 LIMIT 1000`;

/** A request in words reads the catalog first, and so waits for it; later ones only where it has changed. */
const slowCatalogMs = 2_000;

/** How long it takes to read which tables and columns there are. */
export function catalogCheck(database: Database): Check {
  return {
    name: "catalog",
    async run(signal) {
      const startedAt = performance.now();
      const { tables } = await readCatalog(database, { principal: serverItself, signal });
      const ms = performance.now() - startedAt;
      const text = `${tables.length} tables, read in ${ms.toFixed(0)} ms`;
      if (ms < slowCatalogMs) return [note(text)];
      return [warning(
        `${text}: the first request in words waits for that`,
        "-- Grant the role SELECT on the tables that requests are about, and not on all; VACUUM pg_catalog.pg_attribute;",
      )];
    },
  };
}
