import { quoteIdentifier, quoteLiteral, renderSql, sql, verbatim } from "../../postgres/sql_text.ts";
import { type Check, error, type Finding, note, warning } from "./check.ts";
import { type IngestKnowledge, isWritable, readIngestKnowledge } from "./ingest_knowledge.ts";
import { readRows } from "./read_rows.ts";
import { ingestCommand, selectRows, type TableSubject } from "./table_subject.ts";

const sampleRows = 10_000;

/** Whether the documents have been embedded, as far as the first thousands of them tell. */
export function missingVectorsCheck(subject: TableSubject): Check {
  const { database, settings, table: { relation, vector, filter } } = subject;
  return {
    name: `vectors of ${settings.table}`,
    async run(signal) {
      const statement = renderSql(sql`SELECT count(*), count(vector) FROM (
        SELECT ${verbatim(vector.column)} AS vector FROM ${verbatim(relation)} AS source
        WHERE ${filter ?? verbatim("true")} LIMIT ${sampleRows}) sample`);
      const [row] = await readRows(database, signal, statement.sql, statement.parameters);
      const [rows = 0, embedded = 0] = row?.map(Number) ?? [];
      if (rows === 0) return { findings: [noRows(subject)] };
      if (embedded === rows) return { findings: [note("every row that was looked at has one")] };
      const finding = `Of ${rows === sampleRows ? `the first ${rows}` : rows} rows, ${
        rows - embedded
      } have no vector: only their words can be found`;
      const remedy = embedRows(subject, await readIngestKnowledge(subject, signal));
      // none at all is a table that nobody embedded
      return { findings: [embedded === 0 ? error(finding, remedy) : warning(finding, remedy)] };
    },
  };
}

function noRows(subject: TableSubject): Finding {
  if (subject.table.filter !== undefined) {
    return warning(
      "No document meets the table's filter",
      "-- Correct the table's filter in the configuration, or wait until there are such documents",
    );
  }
  const isForIngest = subject.isIngestTarget && isWritable(subject.facts.kind);
  return warning(
    "There are no documents yet",
    isForIngest
      ? ingestCommand(subject)
      : "-- Fill it, or what it reads, with the tool that is to write the documents",
  );
}

/** Nothing that Postern did not write is touched: `-ingest` writes rows anew whose record no longer fits the text. */
function embedRows(subject: TableSubject, knowledge: IngestKnowledge): string {
  const { facts, table: { relation, vector, key } } = subject;
  const select = selectRows(subject, `${vector.column} IS NULL`);
  const tool = "embed these rows with the tool that wrote them";
  if (knowledge === "unreadable") {
    return `-- E${tool.slice(1)}; role ${facts.role} may not see whether that was -ingest:\n${select}`;
  }
  if (knowledge === "unknown" || !key.isId) return `-- E${tool.slice(1)}:\n${select}`;
  return `-- Have -ingest write its own rows again, from the folder that they came from:
UPDATE postern.ingested_chunks c SET hash = '' FROM postern.ingested_files f
  WHERE f.id = c.file AND f.target = ${quoteLiteral(relation)}::regclass
    AND c.key IN (SELECT ${quoteIdentifier(key.name)}::text FROM ${relation} WHERE ${vector.column} IS NULL);
UPDATE postern.ingested_files SET hash = '' WHERE id IN (SELECT file FROM postern.ingested_chunks WHERE hash = '');
${ingestCommand(subject)}
-- What is left then was written by others: ${tool}:
${select}`;
}
