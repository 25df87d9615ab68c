import type { OperatorPipeline } from "../../app/rag/operator_pipelines.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { createSqlSession } from "../../postgres/sql_session.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { readTable } from "../../rag_server/search/document_table.ts";
import { embedQueue, retryFailed } from "../../rag_server/watch/embed_queue.ts";
import {
  onRecord,
  readEmbeddedColumns,
  type WatchedColumn,
  watchedColumn,
} from "../../rag_server/watch/embedded_columns.ts";
import { unwatchSql, watchSql } from "../../rag_server/watch/watch_sql.ts";
import type { PipelineOperation } from "./index_operation.ts";

interface WatchOperation extends Omit<PipelineOperation, "progress"> {
  /** The role of the workers, where it is not the pipeline's own. */
  readonly role: string | undefined;
  readonly logger: Logger;
}

/** A column with the model of its vectors. */
export interface ModelColumn {
  readonly column: WatchedColumn;
  readonly embedding: EmbeddingProvider;
}

/** The columns of a pipeline's tables for one of its models. @throws {AppError} as `readTable` and `watchedColumn` */
export async function columnsOf(
  { pipeline: { database, tables } }: OperatorPipeline,
  { embedding, vectorColumn }: { readonly embedding: EmbeddingProvider; readonly vectorColumn?: string },
  read: Read,
  signal: AbortSignal,
): Promise<ModelColumn[]> {
  const columns: ModelColumn[] = [];
  // one by one, as `read` may be of one connection
  for (const settings of tables) {
    const table = await readTable(database, settings, signal);
    const ofModel = { vectorColumn: vectorColumn ?? settings.vectorColumn, model: embedding.name };
    columns.push({ embedding, column: await watchedColumn(read, table, ofModel) });
  }
  return columns;
}

/** Prints the SQL of the triggers that fill the queues of a pipeline's tables. @throws {AppError} as `columnsOf` */
export async function setUpWatch({ named, role, print, signal }: WatchOperation): Promise<void> {
  const { databaseOptions: { user: reader }, database, providers } = named.pipeline;
  const read: Read = (...sql) => readRows(database, signal, ...sql);
  print(
    "-- Postern prints this and runs none of it. Read it, then run it with psql as the tables' owner. It may be run again.",
  );
  print("\\set ON_ERROR_STOP on");
  for (const { column } of await columnsOf(named, providers, read, signal)) {
    const { before, locking, after } = watchSql(column, { reader, worker: role });
    const transaction = ["BEGIN", "SET LOCAL lock_timeout = '10s'", ...locking, "COMMIT"];
    print(`\n-- ${column.relation}, column ${column.vectorColumn}`);
    for (const statement of [...before, ...transaction, ...after]) print(`${statement};`);
    print("-- To take it away again:");
    for (const statement of unwatchSql(column)) print(`-- ${statement};`);
  }
}

/**
 * Embeds the rows in the queues of a pipeline's tables until it is stopped, each queue by itself; or puts those that were set
 * aside back.
 *
 * @throws {AppError} `not_found` where there is no queue, and as `columnsOf` and `embedQueue`
 */
export async function watchPipeline(
  { named, isRetry, print, logger, signal }: WatchOperation & { readonly isRetry: boolean },
): Promise<void> {
  const { providers: { embedding, reembed }, databaseOptions, name } = named.pipeline;
  const models = [{ embedding }, ...(reembed === undefined ? [] : [reembed])];
  await using connection = await named.connect(signal);
  const session = createSqlSession(connection, signal, `watch pipeline "${name}"`);
  const known = await readEmbeddedColumns(session.query);
  const queues: ModelColumn[] = [];
  for (const model of models) {
    const columns = await columnsOf(named, model, session.query, signal);
    queues.push(...columns.filter(({ column }) => onRecord(known, column) !== undefined));
  }
  if (queues.length === 0) {
    throw new AppError(
      "not_found",
      `Cannot watch pipeline "${name}": its tables have no queue; run the SQL that -setup-watch prints`,
    );
  }
  if (isRetry) {
    const rows = await retryFailed(session, queues.map(({ column }) => column));
    return print(`${rows} ${rows === 1 ? "row" : "rows"} put back`);
  }
  logger.info("Watching for rows to embed", { pipeline: name, tables: queues.length });
  await embedQueues(queues, {
    connect: named.connect,
    listens: databaseOptions.pooler === "none",
    untilEmpty: false,
    stopping: signal,
    logger,
  });
}

/** Works on several queues at once. What ends one ends all. @throws {AppError} as `embedQueue` */
export async function embedQueues(
  queues: readonly ModelColumn[],
  options: Omit<Parameters<typeof embedQueue>[0], "column" | "embedding">,
): Promise<void> {
  const failed = new AbortController();
  const stopping = AbortSignal.any([options.stopping, failed.signal]);
  const ends = await Promise.allSettled(
    queues.map((queue) =>
      embedQueue({ ...options, ...queue, stopping }).catch((error) => {
        failed.abort(error);
        throw error;
      })
    ),
  );
  const error = ends.find((end) => end.status === "rejected");
  if (error !== undefined) throw error.reason;
}
