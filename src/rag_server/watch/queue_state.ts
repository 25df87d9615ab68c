import { withDeadline } from "../../core/async/deadline.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { Database } from "../../postgres/database.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { findRelation } from "../search/document_table.ts";
import { readEmbeddedColumns } from "./embedded_columns.ts";
import { stateView } from "./watch_sql.ts";

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
