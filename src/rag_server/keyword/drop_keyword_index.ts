import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { createSqlSession, lockingTransaction, type SqlSession } from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { asOnlyBuilder } from "./build_keyword_index.ts";
import {
  findRecord,
  hasIndexTable,
  indexFormat,
  indexObjects,
  indexTable,
  ownSchema,
  refuseNewerIndex,
} from "./index_record.ts";

interface DropKeywordIndexOptions {
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
 * @throws {AppError} `conflict` while another process builds it, or where a newer version made it, `upstream` for what the
 * server refuses
 */
export async function dropKeywordIndex(options: DropKeywordIndexOptions): Promise<boolean> {
  const { connection, signal, table, textColumn } = options;
  const session = createSqlSession(connection, signal, "drop the keyword index");
  const [relation] = await session.query("SELECT to_regclass($1)::oid", [table]);
  const oid = Number(relation?.[0] ?? 0);
  if (oid === 0) {
    throw new AppError(
      "invalid",
      `Cannot drop the keyword index of ${nameInMessage(table)}: there is no such table`,
    );
  }
  return await asOnlyBuilder(session, oid, { table }, async () => {
    const record = await findRecord(session, oid, textColumn);
    if (record === undefined) return false;
    refuseNewerIndex(record.format, `drop the keyword index of ${nameInMessage(table)}`);
    await dropObjects(session, record.id, signal);
    return true;
  });
}

/**
 * Drops the indexes of dropped tables, as far as the role owns them.
 *
 * @returns their tables of documents
 * @throws {AppError} `upstream` for what the server refuses
 */
export async function dropLostIndexes(connection: Connection, signal: AbortSignal): Promise<string[]> {
  const session = createSqlSession(connection, signal, "look for keyword indexes of dropped tables");
  if (!await hasIndexTable(session)) return [];
  const lost = (await session.query(lostSql)).map(([id]) => Number(id));
  for (const id of lost) await dropObjects(session, id, signal);
  return lost.map((id) => indexObjects(id).documents);
}

const lostSql = `SELECT i.id FROM ${indexTable} i
  JOIN pg_class t ON t.oid = '${indexTable}'::regclass AND pg_has_role(t.relowner, 'USAGE')
  LEFT JOIN pg_class d ON d.oid = to_regclass('${ownSchema}.keyword_' || i.id || '_documents')
  WHERE i.format <= ${indexFormat} AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = i.source)
    AND (d.oid IS NULL OR pg_has_role(d.relowner, 'USAGE'))`;

async function dropObjects(session: SqlSession, id: number, signal: AbortSignal): Promise<void> {
  const { documents, lists, recent, triggerFunction } = indexObjects(id);
  await lockingTransaction(session, signal, async () => {
    // with it go its triggers, wherever the table has moved
    await session.query(`DROP FUNCTION IF EXISTS ${triggerFunction}() CASCADE`);
    await session.query(`DROP TABLE IF EXISTS ${documents}, ${lists}, ${recent}`);
    await session.query(`DELETE FROM ${indexTable} WHERE id = $1`, [id]);
  });
}
