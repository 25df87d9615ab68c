import { AppError } from "../../core/app_error.ts";
import { createSqlSession, lockingTransaction } from "../../postgres/sql_session.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import { buildVectorIndex } from "../../rag_server/search/build_vector_index.ts";
import { readTable } from "../../rag_server/search/document_table.ts";
import { isOfCallers } from "../../rag_server/search/searched_table.ts";
import { onRecord, readEmbeddedColumns, switchColumns } from "../../rag_server/watch/embedded_columns.ts";
import { countQueued } from "../../rag_server/watch/embed_queue.ts";
import { queueTable, watchSql } from "../../rag_server/watch/watch_sql.ts";
import type { Logger } from "../../core/logger.ts";
import type { PipelineOperation } from "./index_operation.ts";
import { columnsOf, embedQueues } from "./watch_operation.ts";

interface ReembedOperation extends PipelineOperation {
  /** `new` or `old`. Optional: none where questions go on to be searched as they are. */
  readonly switchTo: string | undefined;
  /** Compares both models, where questions are given. */
  readonly evaluate: (() => Promise<void>) | undefined;
  readonly logger: Logger;
}

/**
 * Makes the columns, queues and indexes of a pipeline's next model, where they are not there, and embeds what has no vector
 * of it; then switches questions to it, if that is asked for. A run that was stopped is gone on with.
 *
 * @throws {AppError} `invalid` without `reembed` in the configuration; as `columnsOf`, `embedQueues` and `buildVectorIndex`
 */
export async function reembedPipeline(operation: ReembedOperation): Promise<void> {
  const { named, switchTo, progress, print, logger, signal } = operation;
  const { config: { name }, database, databaseOptions, tables, providers: { reembed } } = named.pipeline;
  if (reembed === undefined) {
    throw new AppError("invalid", `Cannot re-embed pipeline "${name}": it names no model in reembed`);
  }
  const { embedding, vectorColumn } = reembed;
  await using connection = await named.connect(signal);
  const session = createSqlSession(connection, signal, `re-embed pipeline "${name}"`);
  try {
    const columns = await columnsOf(named, reembed, session.query, signal);
    const switchAll = (isCurrent: boolean) =>
      switchColumns(session, columns.map(({ column }) => column), isCurrent);
    if (switchTo === "old") {
      await switchAll(false);
      return print(`${name} is searched by its own model again, within a minute`);
    }
    const { vectors: [sample] } = await embedding.embed({ texts: ["length"], purpose: "document", signal });
    const known = await readEmbeddedColumns(session.query);
    for (const [at, { column }] of columns.entries()) {
      const { before, locking, after } = watchSql(column, { reader: databaseOptions.user });
      const type = `${column.schema}.vector(${sample?.length})`;
      const add = `ALTER TABLE ${column.relation} ADD COLUMN IF NOT EXISTS ${
        quoteIdentifier(vectorColumn)
      } ${type}`;
      // once the new pair is the pipeline's own, what writes rows brings no vector for the old column
      const release = `ALTER TABLE ${column.relation} ALTER COLUMN ${
        quoteIdentifier(tables[at]?.vectorColumn ?? "")
      } DROP NOT NULL`;
      for (const statement of before) await session.query(statement);
      await lockingTransaction(session, signal, async () => {
        for (const statement of [add, release, ...locking]) await session.query(statement);
      });
      for (const statement of after) await session.query(statement);
    }
    if (columns.some(({ column }) => onRecord(known, column) === undefined)) {
      print(
        `Rows that change are queued for ${embedding.name} from now on; restart workers of -watch-pipeline ${name} that run`,
      );
    }
    // once more, as the columns have lengths now
    const queues = await columnsOf(named, reembed, session.query, signal);
    const count = () => countQueued(session, queues.map(({ column }) => column));
    const { waiting: total } = await count();
    let done = 0;
    await embedQueues(queues, {
      connect: named.connect,
      listens: databaseOptions.pooler === "none",
      untilEmpty: true,
      onProgress: (rows) => progress.update({ phase: "rows", done: done += rows, total }),
      stopping: signal,
      logger,
    });
    signal.throwIfAborted();
    for (const settings of tables) {
      const table = await readTable(database, { ...settings, vectorColumn }, signal);
      if (isOfCallers(database, table)) continue;
      const dimensions = sample?.length ?? 0;
      await buildVectorIndex({ connection, table, dimensions, signal, onProgress: progress.update });
      progress.end();
    }
    print(`${name} has its vectors of ${embedding.name} in column ${vectorColumn}`);
    const { setAside } = await count();
    if (setAside > 0) print(`Rows set aside without a vector: ${setAside}; ${queueTable} has the reasons`);
    await operation.evaluate?.();
    if (switchTo === undefined) return;
    await switchAll(true);
    print(`${name} is searched by ${embedding.name}, within a minute; -switch-to old leads back`);
  } finally {
    progress.end();
  }
}
