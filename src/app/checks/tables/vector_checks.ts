import { readerFor, serverItself } from "../../../core/principal.ts";
import { quoteIdentifier, quoteLiteral, renderSql, sql, verbatim } from "../../../postgres/sql_text.ts";
import { ownCommand, shellWord } from "../../../core/own_command.ts";
import { onRecord, readEmbeddedColumns } from "../../../rag_server/watch/embedded_columns.ts";
import { queueTable, stateView } from "../../../rag_server/watch/watch_sql.ts";
import { recordTables } from "../../../rag_server/ingest/record_schema.ts";
import { isOfCallers } from "../../../rag_server/search/searched_table.ts";
import { lengthSql } from "../../../rag_server/search/vector_search.ts";
import { type Read, readRows } from "../../../postgres/read/read_trusted.ts";
import { type Check, type CheckResult, createCheck, error, note, warning } from "../check.ts";
import {
  ingestCommand,
  type IngestKnowledge,
  isWritable,
  readIngestKnowledge,
  selectRows,
  type TableSubject,
  whyUntold,
} from "./table_subject.ts";

/** A length of vectors, and how many of those that were looked at have it. */
interface Length {
  readonly dimensions: number;
  readonly count: number;
}

/** Whether the column's vectors are as long as the provider's. */
export function dimensionCheck(subject: TableSubject): Check {
  const { settings, table: { vector } } = subject;
  return createCheck(`dimensions of ${settings.table}`, async (signal) => {
    const provided = (await subject.embedding())?.length;
    // the provider's own check tells of a provider that fails
    if (provided === undefined) return [];
    if (vector.dimensions === provided) {
      return [note(`${provided} dimensions, as the provider's`)];
    }
    if (vector.dimensions !== undefined) {
      return [await otherDimensions(subject, [vector.dimensions], provided, signal)];
    }
    const lengths = await storedLengths(subject, signal);
    return lengths.length === 0 ? [] : [await lengthResult(subject, lengths, provided, signal)];
  });
}

async function lengthResult(
  subject: TableSubject,
  lengths: readonly Length[],
  provided: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const others = lengths.filter(({ dimensions }) => dimensions !== provided);
  if (others.length === 0) {
    return note(
      `${provided} dimensions, as the provider's, in the vectors that were read; the column sets no length`,
    );
  }
  if (others.length === lengths.length) {
    return await otherDimensions(subject, others.map(({ dimensions }) => dimensions), provided, signal);
  }
  const seen = lengths.reduce((sum, { count }) => sum + count, 0);
  const list = others.map(({ dimensions, count }) => `${count} have ${dimensions}`).join(", ");
  return warning(
    `Of ${seen} vectors that were read, ${list} dimensions instead of the provider's ${provided}: questions find ` +
      "their rows only by keywords",
    `-- Embed these rows again with the configured model, by the tool that wrote them:
${selectRows(subject, `${lengthSql(subject.table)} <> ${provided}`)}`,
  );
}

/** None of the vectors is as long as the provider's. What to do is the operator's choice, so the remedy is in words. */
async function otherDimensions(
  subject: TableSubject,
  stored: readonly number[],
  provided: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const column = quoteIdentifier(subject.settings.vectorColumn);
  const model = "-- Set embedding_llm to the model that made the vectors, with its dimensions";
  const again = await readIngestKnowledge(subject, signal) === "known"
    ? `; or name a new table for the pipeline in the configuration, then make and fill it:\n${
      ingestCommand(subject)
    }`
    : ",\n-- or embed every row again with the configured model, by the tool that wrote the vectors";
  return error(
    `The vectors in ${column} have ${stored.join(" or ")} dimensions, but the provider's have ${provided}`,
    `${model}${again}`,
  );
}

/** The lengths of so many vectors are looked at, so that a large table is not read. */
const measuredRows = 2_000;

/** The lengths of the vectors in a column that takes any, the most frequent first. */
async function storedLengths(subject: TableSubject, signal: AbortSignal): Promise<Length[]> {
  const { database, facts, table: { relation, filter } } = subject;
  const share = 100 * measuredRows / Math.max(1, facts.rows);
  const isSampled = ["r", "p", "m"].includes(facts.kind) && share < 100;
  // the condition stands outside, or the search for rows that meet it would read on
  const statement = renderSql(sql`SELECT dimensions, count(*) FROM (
      SELECT ${verbatim(lengthSql(subject.table))} AS dimensions FROM (
        SELECT * FROM ${verbatim(relation)} ${verbatim(isSampled ? `TABLESAMPLE SYSTEM (${share})` : "")}
        LIMIT ${measuredRows}
      ) source WHERE ${filter ?? verbatim("true")}
    ) sample WHERE dimensions IS NOT NULL GROUP BY dimensions ORDER BY count(*) DESC, dimensions`);
  const rows = await readRows(database, signal, statement.sql, statement.parameters);
  return rows.map(([dimensions, count]) => ({ dimensions: Number(dimensions), count: Number(count) }));
}

/** So many rows are looked at for one without a vector. */
const sampleRows = 10_000;

/** Whether the documents have been embedded, as far as the first thousands of them tell. */
export function missingVectorsCheck(subject: TableSubject): Check {
  const { database, settings, table: { relation, vector, filter }, caller } = subject;
  const isHidden = isOfCallers(database, subject.table);
  return createCheck(`vectors of ${settings.table}`, async (signal) => {
    const untold = isHidden ? whyUntold(subject) : undefined;
    if (untold !== undefined) return [note(`not looked at: ${untold}`)];
    const statement = renderSql(sql`SELECT count(*), count(vector), count(*) FILTER (WHERE lacks) FROM (
      SELECT ${verbatim(vector.column)} AS vector, ${verbatim(lackSql(subject))} AS lacks
      FROM ${verbatim(relation)} AS source
      WHERE ${filter ?? verbatim("true")} LIMIT ${sampleRows}) sample`);
    const reader = isHidden ? readerFor(caller) : serverItself;
    const [row] = await readRows(database, signal, statement.sql, statement.parameters, {
      principal: reader,
    });
    const [rows = 0, embedded = 0, lacking = 0] = row?.map(Number) ?? [];
    if (rows === 0 && isHidden) return [note("row-level security shows no row to who looks")];
    if (rows === 0) return [noRows(subject)];
    if (lacking === 0) return [note("every row with a text that was read has one")];
    const message = `Of ${
      rows === sampleRows ? `the first ${rows}` : rows
    } rows, ${lacking} have no vector: questions find them only by keywords`;
    const remedy = await embedQueued(subject, signal) ??
      embedRows(subject, await readIngestKnowledge(subject, signal));
    // none at all is a table that nobody embedded
    return [embedded === 0 ? error(message, remedy) : warning(message, remedy)];
  });
}

/** The condition of rows that have a text and no vector. A blank text has none by design. */
function lackSql({ table: { vector, textColumn } }: TableSubject): string {
  return `(${vector.column} IS NULL AND ${textColumn}::text ~ '\\S')`;
}

/** For rows that wait in a queue, or are set aside; undefined where none does. */
async function embedQueued(
  { pipeline, database, settings, table }: TableSubject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const read: Read = (...sql) => readRows(database, signal, ...sql);
  const column = onRecord(await readEmbeddedColumns(read), { ...settings, relation: table.relation });
  if (column === undefined) return undefined;
  const [row] = await read(`SELECT waiting, set_aside FROM ${stateView} WHERE name = $1`, [column.name]);
  const [waiting = 0, setAside = 0] = (row ?? []).map(Number);
  const worker = `${ownCommand().name} -watch-pipeline ${shellWord(pipeline)}`;
  const remedies = [
    ...(waiting > 0 ? [`-- ${waiting} wait in the queue: keep a worker running\n${worker}`] : []),
    ...(setAside > 0
      ? [
        `-- ${setAside} are set aside: mend what ${queueTable} says in reason, then\n${worker} -retry-failed`,
      ]
      : []),
  ];
  return remedies.length === 0 ? undefined : remedies.join("\n");
}

function noRows(subject: TableSubject): CheckResult {
  if (subject.table.filter !== undefined) {
    return warning(
      "No document meets the table's filter",
      "-- Correct the table's filter in the configuration, or wait until documents meet it",
    );
  }
  const isForIngest = subject.isIngestTarget && isWritable(subject.facts.kind);
  return warning(
    "There are no documents yet",
    isForIngest
      ? ingestCommand(subject)
      : "-- Fill the table, or the tables that a view reads, with the tool that writes your documents",
  );
}

/** Postern changes only its own rows: `-ingest` rewrites rows whose record no longer fits the text. */
function embedRows(subject: TableSubject, knowledge: IngestKnowledge): string {
  const { facts, table: { relation, vector, key } } = subject;
  const select = selectRows(subject, lackSql(subject));
  const tool = "embed these rows with the tool that wrote them";
  if (knowledge === "unreadable") {
    return `-- E${tool.slice(1)}; role ${facts.role} may not see whether -ingest wrote them:\n${select}`;
  }
  if (knowledge === "unknown" || !key.isId) return `-- E${tool.slice(1)}:\n${select}`;
  return `-- Let -ingest write its own rows again, from the folder that they came from:
UPDATE ${recordTables.chunks} c SET hash = '' FROM ${recordTables.files} f
  WHERE f.id = c.file AND f.target = ${quoteLiteral(relation)}::regclass
    AND c.key IN (SELECT ${quoteIdentifier(key.name)}::text FROM ${relation} WHERE ${vector.column} IS NULL);
UPDATE ${recordTables.files} SET hash = '' WHERE id IN (SELECT file FROM ${recordTables.chunks} WHERE hash = '');
${ingestCommand(subject)}
-- Other tools wrote the rows that are left then: ${tool}:
${select}`;
}
