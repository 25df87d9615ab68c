import { quoteIdentifier, renderSql, sql, verbatim } from "../../postgres/sql_text.ts";
import { lengthSql } from "../search/vector_search.ts";
import { type Check, error, type Finding, note, warning } from "./check.ts";
import { readIngestKnowledge } from "./ingest_knowledge.ts";
import { readRows } from "./read_rows.ts";
import { ingestCommand, selectRows, type TableSubject } from "./table_subject.ts";

/** A length of vectors, and how many of those that were looked at have it. */
interface Length {
  readonly dimensions: number;
  readonly count: number;
}

/** Whether the column's vectors are as long as the provider's. */
export function dimensionCheck(subject: TableSubject): Check {
  const { settings, table: { vector } } = subject;
  return {
    name: `dimensions of ${settings.table}`,
    async run(signal) {
      const provided = (await subject.embedding())?.length;
      // the provider's own check tells of a provider that fails
      if (provided === undefined) return { findings: [] };
      if (vector.dimensions === provided) {
        return { findings: [note(`${provided} dimensions, as the provider's`)] };
      }
      if (vector.dimensions !== undefined) {
        return { findings: [await otherDimensions(subject, [vector.dimensions], provided, signal)] };
      }
      const lengths = await storedLengths(subject, signal);
      return {
        findings: lengths.length === 0 ? [] : [await lengthFinding(subject, lengths, provided, signal)],
      };
    },
  };
}

async function lengthFinding(
  subject: TableSubject,
  lengths: readonly Length[],
  provided: number,
  signal: AbortSignal,
): Promise<Finding> {
  const others = lengths.filter(({ dimensions }) => dimensions !== provided);
  if (others.length === 0) {
    return note(
      `${provided} dimensions, as the provider's, in what was looked at of a column without a length`,
    );
  }
  if (others.length === lengths.length) {
    return await otherDimensions(subject, others.map(({ dimensions }) => dimensions), provided, signal);
  }
  const seen = lengths.reduce((sum, { count }) => sum + count, 0);
  const list = others.map(({ dimensions, count }) => `${count} have ${dimensions}`).join(", ");
  return warning(
    `Of ${seen} vectors that were looked at, ${list} dimensions, the provider's ${provided}: ` +
      "only their rows' words can be found",
    `-- Embed these rows again, by the model that is configured now, with the tool that wrote them:
${selectRows(subject, `${lengthText(subject)} <> ${provided}`)}`,
  );
}

/** None of the vectors is as long as the provider's. What to do about it is the operator's choice, so words say it. */
async function otherDimensions(
  subject: TableSubject,
  stored: readonly number[],
  provided: number,
  signal: AbortSignal,
): Promise<Finding> {
  const column = quoteIdentifier(subject.settings.vectorColumn);
  const model = "-- Set embedding_llm to the model that made the vectors, with its dimensions";
  const again = await readIngestKnowledge(subject, signal) === "known"
    ? `; or give the pipeline a new table in the configuration, which this makes and fills:\n${
      ingestCommand(subject)
    }`
    : ",\n-- or embed every row again, by the model that is configured now, with the tool that wrote the vectors";
  return error(
    `The vectors in ${column} have ${stored.join(" or ")} dimensions, the provider's ${provided}`,
    `${model}${again}`,
  );
}

/** Of a sample, so that a large table is not read. */
const sampleRows = 2_000;

/** The lengths of the vectors in a column that takes any, the most frequent first. */
async function storedLengths(subject: TableSubject, signal: AbortSignal): Promise<Length[]> {
  const { database, facts, table: { relation, filter } } = subject;
  const share = 100 * sampleRows / Math.max(1, facts.rows);
  const isSampled = ["r", "p", "m"].includes(facts.kind) && share < 100;
  // the condition stands outside, or the search for rows that meet it would read on
  const statement = renderSql(sql`SELECT dimensions, count(*) FROM (
      SELECT ${verbatim(lengthText(subject))} AS dimensions FROM (
        SELECT * FROM ${verbatim(relation)} ${verbatim(isSampled ? `TABLESAMPLE SYSTEM (${share})` : "")}
        LIMIT ${sampleRows}
      ) source WHERE ${filter ?? verbatim("true")}
    ) sample WHERE dimensions IS NOT NULL GROUP BY dimensions ORDER BY count(*) DESC, dimensions`);
  const rows = await readRows(database, signal, statement.sql, statement.parameters);
  return rows.map(([dimensions, count]) => ({ dimensions: Number(dimensions), count: Number(count) }));
}

function lengthText({ table }: TableSubject): string {
  return renderSql(lengthSql(table)).sql;
}
