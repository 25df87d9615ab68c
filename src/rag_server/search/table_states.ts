import { withDeadline } from "../../core/async/deadline.ts";
import type { Database } from "../../postgres/database.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { recordTables } from "../ingest/record_schema.ts";
import { mayReadSql } from "../keyword/find_keyword_index.ts";
import type { SearchedTable } from "./searched_table.ts";

/** A pipeline's table as `/v1/health` tells of it. */
export type TableState = ReturnType<typeof stateOf>;

const longestReadMs = 5_000;

/** Reads when a table's latest file was read into it, in milliseconds since 1970. */
const latestSql =
  `SELECT floor(extract(epoch FROM max(ingested_at)) * 1000) FROM ${recordTables.files} WHERE target = to_regclass($1)`;

/**
 * Tells of a pipeline's tables what the last look at them found, and when files were last read into them, which it reads
 * once for each look. Resolves with undefined where the database does not tell.
 *
 * @param look resolves with what the last look found, the same object until the next look
 */
export function createTableReader(
  database: Database,
  look: (signal: AbortSignal) => Promise<readonly SearchedTable[]>,
): () => Promise<readonly TableState[] | undefined> {
  let told: readonly TableState[] = [];
  let toldOf: readonly SearchedTable[] | undefined;

  async function read(signal: AbortSignal): Promise<readonly TableState[]> {
    const tables = await look(signal);
    if (toldOf === tables) return told;
    const value = async (sql: string, parameters?: string[]) =>
      (await readRows(database, signal, sql, parameters))[0]?.[0];
    const mayKnow = await value(mayReadSql(recordTables.files)) === "t";
    told = await Promise.all(
      tables.map(async (searched) =>
        stateOf(searched, mayKnow ? await value(latestSql, [searched.table.relation]) : null)
      ),
    );
    toldOf = tables;
    return told;
  }

  return () => withDeadline(longestReadMs, undefined, read).catch(() => undefined);
}

function stateOf({ table, keywordIndex }: SearchedTable, latest: string | null | undefined) {
  return {
    name: table.name,
    rows: table.rows || undefined,
    keyword_index: keywordIndex ?? false as const,
    vector_index: table.vector.indexes[0]?.method ?? false as const,
    ingested_at: latest ? new Date(Number(latest)).toISOString() : undefined,
  };
}
