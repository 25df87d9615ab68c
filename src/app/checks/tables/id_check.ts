import { quoteIdentifier } from "../../../postgres/sql_text.ts";
import { readRows } from "../../../postgres/read/read_trusted.ts";
import { type Check, type CheckResult, createCheck, note, warning } from "../check.ts";
import { addIdColumn, createIndexOn, type TableSubject } from "./table_subject.ts";

const sampleRows = 10_000;

/** Whether a document has an id, and no other one the same. */
export function idCheck(subject: TableSubject): Check {
  const { settings, table: { key }, facts } = subject;
  return createCheck(`id of ${settings.table}`, async (signal) => {
    if (!key.isId) return [missingId(subject)];
    const index = await indexOf(subject, signal);
    if (index === "unique") return [note(`${key.name}, unique`)];
    const repeated = await repeatedId(subject, signal);
    if (repeated !== undefined) return [repeatedIds(subject, repeated)];
    if (facts.kind === "p") {
      return [index === "other" ? note(`${key.name}, with an index`) : missingIndex(subject)];
    }
    // of a view, only the table below it can have an index
    const mayHaveIndex = facts.kind === "r" || facts.kind === "m";
    return mayHaveIndex ? [missingUniqueIndex(subject)] : [];
  });
}

function missingUniqueIndex({ table: { key }, facts }: TableSubject): CheckResult {
  const create = createIndexOn(facts).replace("CREATE INDEX", "CREATE UNIQUE INDEX");
  return warning(
    `"${key.name}" has no unique index of its own: each answer reads the table to find its documents`,
    `${create} (${quoteIdentifier(key.name)});`,
  );
}

/** Of a partitioned table, whose unique indexes must have all columns that it is partitioned by. */
function missingIndex({ table: { key }, facts }: TableSubject): CheckResult {
  return warning(
    `No index begins with "${key.name}": each answer reads the table to find its documents`,
    `${createIndexOn(facts)} (${quoteIdentifier(key.name)});`,
  );
}

function missingId({ settings, facts }: TableSubject): CheckResult {
  const message =
    "The documents have no id: sources come without an id, and equal texts count as one document";
  if (facts.kind !== "r" && facts.kind !== "p") {
    return warning(message, "-- Set id_column to a column that tells the documents apart");
  }
  const column = facts.hasPrimaryKey || facts.columns.some(({ name }) => name === "id")
    ? "document_id"
    : "id";
  return warning(
    message,
    `-- Set id_column of ${settings.table} to a column that tells the documents apart, or add one and set id_column: ${column}
${addIdColumn(facts, column)}`,
  );
}

function repeatedIds({ table: { key, relation } }: TableSubject, id: string): CheckResult {
  const column = quoteIdentifier(key.name);
  return warning(
    `"${key.name}" is not unique (${
      JSON.stringify(id)
    } appears twice): an answer shows only one of the rows with the same id`,
    `-- Set id_column to a column that tells the documents apart, or give these rows ids of their own:
SELECT ${column}, count(*) FROM ${relation} GROUP BY ${column} HAVING count(*) > 1;`,
  );
}

/** The kind of index that finds a document by its id. */
async function indexOf({ database, facts, table: { key } }: TableSubject, signal: AbortSignal) {
  const [row] = await readRows(database, signal, indexSql, [facts.oid, key.name]);
  if (row === undefined) return undefined;
  return row[0] === "t" ? "unique" : "other";
}

const indexSql = `SELECT i.indisunique AND i.indnkeyatts = 1 AS is_unique FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = $1::oid AND a.attname = $2 AND i.indisvalid AND i.indpred IS NULL
    AND m.amname IN ('btree', 'hash')
  ORDER BY is_unique DESC LIMIT 1`;

async function repeatedId(
  { database, table: { key, relation } }: TableSubject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const column = quoteIdentifier(key.name);
  const [row] = await readRows(
    database,
    signal,
    `SELECT min(id::text) FROM (SELECT ${column} AS id FROM ${relation} LIMIT ${sampleRows}) sample
      WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1`,
  );
  return row?.[0] ?? undefined;
}
