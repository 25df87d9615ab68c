import type { Connection } from "../../postgres/connection.ts";
import { asOnlyBuilder } from "./build_keyword_index.ts";
import { indexTable } from "./index_objects.ts";
import { findRecord } from "./index_record.ts";
import { createSqlSession } from "./sql_session.ts";
import { transaction } from "./transaction.ts";
import { withoutWaitingWriters } from "./without_waiting_writers.ts";
import { AppError } from "../../core/app_error.ts";

export interface DropKeywordIndexOptions {
  readonly connection: Connection;
  readonly signal: AbortSignal;
  /** As in a FROM clause. */
  readonly table: string;
  readonly textColumn: string;
}

/**
 * Takes away a keyword index with its triggers, finished or not.
 *
 * @returns whether there was one
 * @throws {AppError} `conflict` while another process builds it, `upstream` for what the server refuses
 */
export async function dropKeywordIndex(options: DropKeywordIndexOptions): Promise<boolean> {
  const { connection, signal, table, textColumn } = options;
  const session = createSqlSession(connection, signal);
  const [relation] = await session.query("SELECT to_regclass($1)::oid", [table]);
  const oid = Number(relation?.[0] ?? 0);
  if (oid === 0) {
    throw new AppError("invalid", `Cannot drop the keyword index of "${table}": there is no such table`);
  }
  return await asOnlyBuilder(session, oid, { table }, async () => {
    const record = await findRecord(session, oid, textColumn);
    if (record === undefined) return false;
    const { documents, lists, recent, triggerFunction } = record.objects;
    await withoutWaitingWriters(signal, () =>
      transaction(session, async () => {
        await session.query("SET LOCAL lock_timeout = '1s'");
        // with it go its triggers, wherever the table has moved
        await session.query(`DROP FUNCTION IF EXISTS ${triggerFunction}() CASCADE`);
        await session.query(`DROP TABLE IF EXISTS ${documents}, ${lists}, ${recent}`);
        await session.query(`DELETE FROM ${indexTable} WHERE id = $1`, [record.id]);
      }));
    return true;
  });
}
