import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { deleteFile, moveRecords, removeSource, renameSource, saveSource } from "./ingest_record.ts";
import type { IngestTable } from "./ingest_table.ts";
import type { SourcePlan } from "./plan_source.ts";

/**
 * Notes the sources of a run, and puts the records into them that were known otherwise: by absolute paths, by another name,
 * or as another source's. All of it is one transaction, and nothing is embedded.
 */
export async function saveSources(
  session: SqlSession,
  table: IngestTable,
  plans: readonly SourcePlan[],
): Promise<void> {
  await transaction(session, async () => {
    for (const { source, formerName, absorbed, moved, doubled } of plans) {
      if (formerName !== undefined) {
        await renameSource(session, table, { from: formerName, to: source.name });
      }
      await saveSource(session, table, source);
      await moveRecords(session, table, source.name, moved);
      for (const file of doubled) await deleteFile(session, table, file);
      for (const { name } of absorbed) await removeSource(session, table, name);
    }
  });
}
