import { clearTimeout, setTimeout } from "node:timers";
import type { Logger } from "../../core/logger.ts";
import type { Connection } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { withDeadline } from "../../core/async/deadline.ts";

/**
 * A backend of PostgreSQL that was asked to cancel its statement for seconds, and has not ended it: some of PostgreSQL's
 * functions never look whether they are to stop. To close the connection would not end it either.
 */
interface StuckBackend {
  readonly database: DatabaseOptions;
  /** It stays open, so that its end is heard of, unless something between closes it. */
  readonly connection: Connection;
  /** The caller whose statement it is. */
  readonly caller: string;
  /** In milliseconds since 1970. */
  readonly since: number;
  /** Called once, when it is known to be gone, or was not seen for so long that its place is given up. */
  readonly onGone: () => void;
}

export type StuckBackends = ReturnType<typeof createStuckBackends>;

const calmly = [1_000, 5_000, 10_000, 20_000, 40_000, 60_000];

/** How long a backend keeps its place while it cannot be seen, as behind a pooler, which tells process ids of its own. */
const unseenMs = 10 * 60_000;
const lookTimeoutMs = 10_000;

/** Process ids are used again: a backend that is younger than our connection by more than clocks differ is another one. */
const clockMs = 2_000;

interface Watched extends StuckBackend {
  seenAt: number;
  isLogged: boolean;
}

/**
 * The stuck backends of all pools, watched until each is gone. Disposing of it closes their connections at once.
 *
 * Looks at each database's stuck backends one after another, each over a further connection with the same login, which is
 * closed after it. A backend that still runs is told to end again: its role may do that, and a backend that waits for its
 * client heeds nothing else.
 */
export function createStuckBackends({ now, logger, lookAfterMs = calmly }: {
  readonly logger: Logger;
  readonly now: () => number;
  /** When to look, in milliseconds after one was added or the last look; the last holds for all further looks. */
  readonly lookAfterMs?: readonly number[] | undefined;
}) {
  const ended = new AbortController();
  const watches = new Map<DatabaseOptions, ReturnType<typeof watchDatabase>>();

  function watchDatabase(database: DatabaseOptions) {
    const backends = new Set<Watched>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let looks = 0;
    let isLooking = false;

    function schedule(): void {
      clearTimeout(timer);
      if (isLooking || ended.signal.aborted) return;
      if (backends.size === 0) return void watches.delete(database);
      const waitMs = lookAfterMs[Math.min(looks, lookAfterMs.length - 1)];
      timer = setTimeout(() => void lookAtAll(), waitMs).unref();
    }

    function lookSoon(): void {
      looks = 0;
      schedule();
    }

    async function lookAtAll(): Promise<void> {
      looks++;
      isLooking = true;
      for (const backend of backends) await lookAt(backend);
      isLooking = false;
      schedule();
    }

    async function lookAt(backend: Watched): Promise<void> {
      const found = await findBackend(backend.connection, ended.signal).catch((error) => {
        logger.debug("cannot look for a stuck backend", { ...fieldsOf(backend), error });
        return "unseen" as const;
      });
      if (ended.signal.aborted || !backends.has(backend)) return;
      if (found === "gone") return remove(backend);
      if (found === "running") backend.seenAt = now();
      if (now() - backend.seenAt >= unseenMs) return giveUp(backend);
      if (backend.isLogged) return;
      backend.isLogged = true;
      const message =
        "PostgreSQL does not stop a statement that has to end; its backend keeps its place in the pool";
      logger.warn(message, { ...fieldsOf(backend), seen: found === "running" });
    }

    function remove(backend: Watched): void {
      if (!backends.delete(backend)) return;
      if (backend.isLogged) {
        logger.info("A stuck backend has ended; its place in the pool is free again", fieldsOf(backend));
      }
      backend.connection.destroy();
      backend.onGone();
    }

    function giveUp(backend: Watched): void {
      logger.warn(
        "A stuck backend could not be seen for 10 minutes; its place in the pool is free again, but it may still run",
        fieldsOf(backend),
      );
      backend.isLogged = false;
      remove(backend);
    }

    return {
      stop() {
        clearTimeout(timer);
        for (const { connection } of backends) connection.destroy();
      },
      add(backend: Watched) {
        backends.add(backend);
        backend.connection.onClosed(() => {
          if (!backend.connection.awaitsAnswer()) remove(backend);
          // something between may have closed it, and the backend runs on
          else if (backends.has(backend)) lookSoon();
        });
        lookSoon();
      },
    };
  }

  return {
    /** There is none. */
    get isEmpty(): boolean {
      return watches.size === 0;
    },
    add(backend: StuckBackend): void {
      if (ended.signal.aborted) return backend.connection.destroy();
      const watch = watches.get(backend.database) ?? watchDatabase(backend.database);
      watches.set(backend.database, watch);
      watch.add({ ...backend, seenAt: backend.since, isLogged: false });
    },
    [Symbol.dispose](): void {
      ended.abort();
      for (const watch of watches.values()) watch.stop();
    },
  };
}

function fieldsOf({ database, connection, caller, since }: Watched) {
  return {
    database: database.name,
    backend: connection.processId,
    // the log takes what follows a token's colon for a secret
    caller: caller.replace(":", " "),
    since: new Date(since).toISOString(),
  };
}

const lookSql = `SELECT s.pid::int AS pid,
    (extract(epoch FROM pg_catalog.clock_timestamp() - s.backend_start) * 1000)::float8 AS "ageMs"
  FROM pg_catalog.pg_stat_activity s WHERE s.pid IN ($1, pg_catalog.pg_backend_pid())`;

/** `unseen` where process ids are not the server's own. Tells the backend to end where it runs. */
async function findBackend(lost: Connection, signal: AbortSignal): Promise<"running" | "gone" | "unseen"> {
  return await withDeadline(lookTimeoutMs, signal, async (inner) => {
    const connection = await lost.openAnother(inner);
    try {
      return await untilAborted(ask(connection, lost), inner);
    } finally {
      if (inner.aborted) connection.destroy();
      else await connection.close();
    }
  });
}

async function ask(
  { client, processId }: Connection,
  lost: Connection,
): Promise<"running" | "gone" | "unseen"> {
  const { rows } = await client.query<{ pid: number; ageMs: number | null }>(lookSql, [lost.processId]);
  if (!rows.some(({ pid }) => pid === processId)) return "unseen";
  const ageMs = rows.find(({ pid }) => pid === lost.processId)?.ageMs;
  // null is a backend of another role's, about which ours may know no more
  if (typeof ageMs !== "number" || ageMs < lost.ageMs() - clockMs) return "gone";
  await client.query("SELECT pg_catalog.pg_terminate_backend($1)", [lost.processId]);
  return "running";
}
