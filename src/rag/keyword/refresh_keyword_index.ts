import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { asOnlyBuilder, vacuum } from "./build_keyword_index.ts";
import { grantToReaders } from "./grant_to_readers.ts";
import { findRecord, saveProgress } from "./index_record.ts";
import { inspectSource, type KeywordIndexRequest } from "./inspect_source.ts";
import { settleLists } from "./settle_lists.ts";
import { createSqlSession } from "./sql_session.ts";

export interface RefreshKeywordIndexOptions extends KeywordIndexRequest {
  readonly connection: Connection;
  readonly signal: AbortSignal;
  /** Gets the share that is done, from 0 to 1. */
  readonly onShare?: (share: number) => void;
}

/**
 * Makes the statistics and lists of an index anew, and lets in who may read the table by now. Questions and writers go on
 * meanwhile.
 *
 * @throws {AppError} `not_found` where there is no finished index, `conflict` while another process builds it
 */
export async function refreshKeywordIndex(options: RefreshKeywordIndexOptions): Promise<void> {
  const session = createSqlSession(options.connection, options.signal);
  const facts = await inspectSource(session, options);
  await asOnlyBuilder(session, facts.oid, options, async () => {
    const record = await findRecord(session, facts.oid, options.textColumn);
    if (record?.state !== "ready") {
      throw new AppError(
        "not_found",
        `Cannot refresh the keyword index of "${options.table}": there is none ready`,
      );
    }
    await settleLists(session, record, { onShare: options.onShare ?? (() => {}) });
    await grantToReaders(session, record, facts.oid);
    await saveProgress(session, record, "ready", null);
    await vacuum(session, record);
  });
}
