import { renderSql, sql, verbatim } from "../sql_text.ts";
import { type Check, error, note, warning } from "./check.ts";
import { readRows } from "./read_rows.ts";
import { shellWord, type TableSubject } from "./table_subject.ts";

const sampleRows = 10_000;

/** Whether the documents have been embedded, as far as the first thousands of them tell. */
export function missingVectorsCheck(subject: TableSubject): Check {
  const { database, settings, pipeline, table: { relation, vector, filter } } = subject;
  return {
    name: `vectors of ${settings.table}`,
    async run(signal) {
      const statement = renderSql(sql`SELECT count(*), count(vector) FROM (
        SELECT ${verbatim(vector.column)} AS vector FROM ${verbatim(relation)} AS source
        WHERE ${filter ?? verbatim("true")} LIMIT ${sampleRows}) sample`);
      const [row] = await readRows(database, signal, statement.sql, statement.parameters);
      const [rows = 0, embedded = 0] = row?.map(Number) ?? [];
      const ingest = `server -ingest ${shellWord(pipeline)} FOLDER`;
      if (rows === 0) {
        const finding = filter === undefined
          ? "There are no documents yet"
          : "No document meets the table's filter";
        return { findings: [warning(finding, ingest)] };
      }
      if (embedded === rows) return { findings: [note("every row that was looked at has one")] };
      const finding = `Of ${rows === sampleRows ? `the first ${rows}` : rows} rows, ${
        rows - embedded
      } have no vector: only their words can be found`;
      // none at all is a table that nobody embedded
      return { findings: [embedded === 0 ? error(finding, ingest) : warning(finding, ingest)] };
    },
  };
}
