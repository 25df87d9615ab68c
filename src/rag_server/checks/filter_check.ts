import { nameOf, quoteIdentifier, renderSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { type Check, warning } from "./check.ts";
import { readJson, readRows } from "./read_rows.ts";
import { basesSql } from "./table_facts.ts";
import { createIndexOn, fewRows, rowsText, type TableSubject } from "./table_subject.ts";

/** A filter that lets through more than this share gains nothing from an index. */
const selectiveBelow = 0.2;

/** Whether the configured filter of a large table finds its rows by an index where it is worth one. */
export function filterCheck(subject: TableSubject): Check {
  const { settings, database, facts, table: { columns, filter } } = subject;
  return {
    name: `filter of ${settings.table}`,
    async run(signal) {
      if (filter === undefined || facts.rows < fewRows) return { findings: [] };
      if (!await scansForFew(subject, filter, signal)) return { findings: [] };
      const indexed = await readJson<string[]>(database, signal, leadingSql, [facts.oid]) ?? [];
      const bare = namedColumns(settings.filter, [...columns.keys()])
        // what lies in JSON or in an array needs an index that only its owner can choose
        .filter((name) => !["json", "array", "other"].includes(columns.get(name)?.kind ?? "other"))
        .filter((name) => !indexed.includes(name));
      return {
        findings: bare.map((name) =>
          warning(
            `The filter picks few of ${rowsText(facts.rows)} by "${name}", which no index begins with`,
            `${createIndexOn(facts)} (${quoteIdentifier(name)});`,
          )
        ),
      };
    },
  };
}

const leadingSql = `${basesSql}
  SELECT json_agg(DISTINCT a.attname) FROM bases JOIN pg_index i ON i.indrelid = bases.oid AND i.indisvalid
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]`;

/** Whether PostgreSQL would read the whole table for few of its rows. */
async function scansForFew({ database, table, facts }: TableSubject, filter: SqlText, signal: AbortSignal) {
  const { sql: text, parameters } = renderSql(
    sql`EXPLAIN (FORMAT JSON) SELECT 1 FROM ${verbatim(table.relation)} AS source WHERE ${filter}`,
  );
  const [row] = await readRows(database, signal, text, parameters);
  const plan = row?.[0] ?? "[]";
  const [explained]: { Plan?: { "Plan Rows"?: number } }[] = JSON.parse(plan);
  const rows = explained?.Plan?.["Plan Rows"] ?? Infinity;
  return plan.includes('"Seq Scan"') && rows < selectiveBelow * facts.rows;
}

/** The columns that a filter names; of SQL text, those whose name is a word in it outside of literals. */
function namedColumns(filter: TableSubject["settings"]["filter"], columns: readonly string[]): string[] {
  if (filter === undefined) return [];
  if (typeof filter !== "string") {
    return columns.filter((name) => filter.conditions.some(({ column }) => column === name));
  }
  const text = filter.replace(/'(?:[^']|'')*'/g, " ");
  const words = new Set(text.match(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu)?.map(nameOf));
  return columns.filter((name) => words.has(name));
}
