import { mayReadSql } from "../keyword/find_keyword_index.ts";
import { readJson, readRows } from "./read_rows.ts";
import type { TableSubject } from "./table_subject.ts";

/** Whether `-ingest` wrote rows of a table: that is on record, it is not, or the role may not read the record. */
export type IngestKnowledge = "known" | "unknown" | "unreadable";

/** What is on record of a table; nothing where `-ingest` writes to another table of the pipeline. */
export async function readIngestKnowledge(
  { database, facts, isIngestTarget }: TableSubject,
  signal: AbortSignal,
): Promise<IngestKnowledge> {
  if (!isIngestTarget || !isWritable(facts.kind)) return "unknown";
  const mayRead = await readJson<boolean>(
    database,
    signal,
    `SELECT to_json(bool_and(may)) FROM ((${mayReadSql("postern.ingested_files")})
      UNION ALL (${mayReadSql("postern.ingested_chunks")})) rights(may)`,
  );
  if (mayRead === undefined) return "unknown";
  if (!mayRead) return "unreadable";
  const [row] = await readRows(
    database,
    signal,
    "SELECT 1 FROM postern.ingested_files WHERE target = $1::oid LIMIT 1",
    [facts.oid],
  );
  return row === undefined ? "unknown" : "known";
}

/** Whether rows can be put into a relation of a kind, by `pg_class.relkind`. */
export function isWritable(kind: string): boolean {
  return kind === "r" || kind === "p";
}
