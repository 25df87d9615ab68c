import { AppError } from "../../core/app_error.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { type RecordedChunk, saveRecord } from "./ingest_record.ts";
import { type DetailName, detailNames, type IngestTable } from "./ingest_table.ts";

/** A chunk that has a row already, or the vector for a new one. */
export type ReadyChunk =
  & { readonly text: string; readonly hash: string }
  & ({ readonly key: string } | { readonly vector: Float32Array });

export interface ReadyFile {
  readonly path: string;
  readonly source: string;
  readonly title: string;
  readonly hash: string;
  readonly chunks: readonly ReadyChunk[];
  /** Of rows that are not among the chunks any more. */
  readonly goneKeys: readonly string[];
}

const rowsPerStatement = 100;

/**
 * Puts a file's chunks in the place of those it had, in one transaction.
 *
 * @throws {AppError} as the session; `conflict` where the table does not keep what is written to it
 */
export async function writeFile(session: SqlSession, table: IngestTable, file: ReadyFile): Promise<void> {
  const { chunks, goneKeys } = file;
  const rows = chunks.map((chunk, position) => ({ ...chunk, position }));
  await transaction(session, async () => {
    await deleteRows(session, table, goneKeys);
    await updateKept(session, table, file, rows.flatMap((row) => "key" in row ? [row] : []));
    const written: RecordedChunk[] = rows.map((row) => ({
      key: "key" in row ? row.key : "",
      hash: row.hash,
    }));
    const added = rows.flatMap((row) => "vector" in row ? [row] : []);
    for (let at = 0; at < added.length; at += rowsPerStatement) {
      const slice = added.slice(at, at + rowsPerStatement);
      const keys = await insertRows(session, table, file, slice);
      slice.forEach(({ position, hash }, index) => written[position] = { key: keys[index] ?? "", hash });
    }
    await saveRecord(session, table, file, written);
  });
}

async function deleteRows(session: SqlSession, table: IngestTable, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await session.query(
    `DELETE FROM ${table.relation} WHERE ${table.idColumn} IN
      (SELECT gone.key::${table.idType} FROM json_array_elements_text($1::json) gone(key))`,
    [JSON.stringify(keys)],
  );
}

/** What a detail's column gets, as SQL over a row `r` with a `position`; `$2` is the source, `$3` the title. */
const detailValues: Readonly<Record<DetailName, string>> = {
  source: "$2::text",
  title: "$3::text",
  position: "r.position",
  metadata: "json_build_object('source', $2::text, 'title', $3::text, 'position', r.position)",
};

function detailsOf(table: IngestTable): { name: DetailName; value: string }[] {
  return detailNames.flatMap((name) => {
    const type = table.details.get(name);
    return type === undefined ? [] : [{ name, value: `(${detailValues[name]})::${type}` }];
  });
}

// a statement must name each of its parameters
const header = "(SELECT $2::text, $3::text) AS unused";

async function updateKept(
  session: SqlSession,
  table: IngestTable,
  { source, title }: ReadyFile,
  rows: readonly { readonly key: string; readonly position: number }[],
): Promise<void> {
  // the text is as it was, so what is left to others of the row's columns stays too
  const details = detailsOf(table).filter(({ name }) => name !== "metadata");
  if (rows.length === 0 || details.length === 0) return;
  await session.query(
    `UPDATE ${table.relation} t SET ${details.map(({ name, value }) => `${name} = ${value}`).join(", ")}
      FROM json_to_recordset($1::json) AS r(key text, position int), ${header}
      WHERE t.${table.idColumn} = r.key::${table.idType}
        AND (${details.map(({ name, value }) => `t.${name} IS DISTINCT FROM ${value}`).join(" OR ")})`,
    [JSON.stringify(rows.map(({ key, position }) => ({ key, position }))), source, title],
  );
}

/** The new rows' ids, in order. */
async function insertRows(
  session: SqlSession,
  table: IngestTable,
  { source, title }: ReadyFile,
  rows: readonly { readonly text: string; readonly vector: Float32Array; readonly position: number }[],
): Promise<readonly string[]> {
  const details = detailsOf(table);
  const columns = [
    { name: table.textColumn, value: "r.text" },
    { name: table.vectorColumn, value: `r.vector::${table.vectorType}` },
    ...(table.needsId ? [{ name: table.idColumn, value: `r.id::${table.idType}` }] : []),
    ...details,
  ];
  const records = rows.map(({ text, vector, position }) => ({
    text,
    vector: `[${vector.join(",")}]`,
    position,
    ...(table.needsId && { id: crypto.randomUUID() }),
  }));
  const inserted = await session.query(
    `INSERT INTO ${table.relation} (${columns.map(({ name }) => name).join(", ")})
      SELECT ${columns.map(({ value }) => value).join(", ")}
      FROM json_to_recordset($1::json) AS r(text text, vector text, id text, position int), ${header}
      ORDER BY r.position RETURNING ${table.idColumn}`,
    [JSON.stringify(records), source, title],
  );
  if (inserted.length !== rows.length) {
    throw new AppError("conflict", `Cannot ingest into ${table.relation}: it did not take every row`);
  }
  return inserted.map(([id]) => id ?? "");
}
