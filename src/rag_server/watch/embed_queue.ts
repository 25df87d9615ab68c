import { AppError } from "../../core/app_error.ts";
import { settlesWithin, sleep, startTimer, withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { createSqlSession, type SqlSession, sqlStateOf } from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { embedBatch } from "./embed_batch.ts";
import { readEmbeddedColumns, type WatchedColumn } from "./embedded_columns.ts";
import { channel, queueTable, stateView } from "./watch_sql.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { Database } from "../../postgres/database.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { findRelation } from "../search/document_table.ts";

interface EmbedQueueOptions {
  readonly column: WatchedColumn;
  readonly embedding: EmbeddingProvider;
  /** Opens a connection that may write. */
  readonly connect: (signal: AbortSignal) => Promise<Connection>;
  /** Whether the server can tell of new rows: not through a pooler. */
  readonly listens: boolean;
  /** Whether to end once no row waits. */
  readonly untilEmpty: boolean;
  /** Told after each batch how many rows it has done. */
  readonly onProgress?: (rows: number) => void;
  /** Ends it after the batch under way. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

/** Where no notice comes, or none can; shorter where somebody waits for the end. */
const [pollMs, endPollMs] = [5_000, 1_000];
const mostRows = 100;
/** Between two tries where the provider or the database fails. */
const pauses = { shortestMs: 1_000, longestMs: 60_000 };
/** How long a batch under way may take once the worker is to stop: service managers wait for 30 seconds. */
const stopMs = 20_000;

/**
 * Gives the rows in a column's queue the vectors of their texts, until it is stopped. Any number of workers share a queue.
 * Where the provider or the database fails it goes on trying, with fewer rows at once.
 *
 * @throws {AppError} what another try does not mend: `invalid` for vectors that the column does not take, `upstream` for what
 * the database refuses; of the first connection all
 */
export async function embedQueue(options: EmbedQueueOptions): Promise<void> {
  const { column, embedding, untilEmpty, stopping } = options;
  const logger = options.logger.with({ table: column.table, column: column.vectorColumn });
  const work = new AbortController();
  let lift = () => {};
  let wake = () => {};
  const stop = () => {
    lift = startTimer(stopMs, () => work.abort(stopping.reason));
    wake();
  };
  stopping.addEventListener("abort", stop, { once: true });
  let connection = await options.connect(stopping);
  let [rows, pauseMs] = [mostRows, pauses.shortestMs];

  try {
    while (!stopping.aborted) {
      // what comes during a batch is not to be waited for
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      try {
        const session = createSqlSession(
          connection,
          work.signal,
          `embed table ${nameInMessage(column.table)}`,
        );
        if (connection.client.listenerCount("notification") === 0) {
          if (options.listens) await session.query(`LISTEN ${channel}`);
          connection.client.on("notification", () => wake());
        }
        const batch = await embedBatch({ session, column, embedding, rows, signal: work.signal, logger });
        options.onProgress?.(batch.done);
        [rows, pauseMs] = [Math.min(batch.nextRows, mostRows), pauses.shortestMs];
        if (batch.taken > 0) continue;
        if (untilEmpty && (await countQueued(session, [column])).waiting === 0) return;
        if (!stopping.aborted) await settlesWithin(untilEmpty ? endPollMs : pollMs, woken.promise);
      } catch (error) {
        if (work.signal.aborted || !mayPass(error)) throw error;
        const detail = error instanceof ProviderError ? error.detail : undefined;
        logger.warn("Rows wait for their embeddings", { error, detail, retryMs: pauseMs });
        // it may be too slow for so many
        rows = Math.max(1, Math.floor(rows / 2));
        await sleep(pauseMs, stopping).catch(() => {});
        pauseMs = Math.min(pauseMs * 2, pauses.longestMs);
        if (!connection.isReady()) {
          await connection.close();
          connection = await options.connect(stopping).catch(() => connection);
        }
      }
    }
  } finally {
    lift();
    stopping.removeEventListener("abort", stop);
    await connection.close();
  }
}

/** Rows in the queues of columns: those that wait, and those that are set aside. */
export async function countQueued(session: SqlSession, columns: readonly WatchedColumn[]) {
  const [row] = await session.query(
    `SELECT count(*) - count(reason), count(reason) FROM ${queueTable} WHERE name = ANY (string_to_array($1, ' '))`,
    [columns.map(({ name }) => name).join(" ")],
  );
  return { waiting: Number(row?.[0]), setAside: Number(row?.[1]) };
}

/** Whether it lies in the provider, the network or other transactions. */
function mayPass(error: unknown): boolean {
  if (error instanceof ProviderError) return true;
  return error instanceof AppError &&
    (error.code === "unavailable" || /^(40|53|55|57)/.test(String(sqlStateOf(error))));
}

/** Puts rows that were set aside back into the queue. @returns how many */
export async function retryFailed(session: SqlSession, columns: readonly WatchedColumn[]): Promise<number> {
  const rows = await session.query(
    `UPDATE ${queueTable} SET reason = NULL, attempts = 0, since = clock_timestamp(), not_before = clock_timestamp()
      WHERE reason IS NOT NULL AND name = ANY (string_to_array($1, ' ')) RETURNING key`,
    [columns.map(({ name }) => name).join(" ")],
  );
  await session.query(`NOTIFY ${channel}`);
  return rows.length;
}

/** How far a pipeline's vectors are behind its texts. */
export interface QueueState {
  /** Rows that wait for an embedding. */
  readonly waiting: number;
  /** For how long the oldest has; 0 where none waits. */
  readonly oldestSeconds: number;
  /** Rows that are set aside. */
  readonly setAside: number;
}

const longestLookMs = 5_000;
/** What is told to who asks for the metrics may be as old. */
const freshMs = 10_000;

/** Tells the state of the queues of a pipeline's tables, as its own role may read it. */
export function createQueueReader(
  database: Database,
  tables: readonly string[],
  now: () => number = () => performance.now(),
) {
  const flight = createSingleFlight<QueueState | undefined>();
  let last: QueueState | undefined;
  let readAt = -Infinity;

  async function look(signal: AbortSignal): Promise<QueueState | undefined> {
    const read: Read = (...sql) => readRows(database, signal, ...sql);
    const columns = await readEmbeddedColumns(read);
    if (columns.length === 0) return undefined;
    const relations = await Promise.all(
      tables.map(async (table) => (await findRelation(read, table))?.relation),
    );
    const names = columns.filter(({ relation }) => relations.includes(relation)).map(({ name }) => name);
    if (names.length === 0) return undefined;
    const [row] = await read(
      `SELECT sum(waiting), coalesce(extract(epoch FROM greatest(clock_timestamp() - min(oldest), '0')), 0), sum(set_aside)
        FROM ${stateView} WHERE name = ANY (string_to_array($1, ' '))`,
      [names.join(" ")],
    );
    const [waiting = 0, oldestSeconds = 0, setAside = 0] = (row ?? []).map(Number);
    return { waiting, oldestSeconds, setAside };
  }

  return {
    /** Undefined where the pipeline has no queue, or the database does not tell. */
    async read(): Promise<QueueState | undefined> {
      last = await flight.share(() => withDeadline(longestLookMs, undefined, look)).catch(() => undefined);
      readAt = now();
      return last;
    },
    /** As it was read last; looks again for the next time where that is not fresh. */
    recent(): QueueState | undefined {
      if (now() - readAt > freshMs) {
        readAt = now();
        void this.read();
      }
      return last;
    },
  };
}
