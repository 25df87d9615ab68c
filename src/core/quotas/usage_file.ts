import { join } from "node:path";
import { inTransaction, openSqliteFile, type SqliteLayout } from "../files/sqlite_file.ts";
import type { Logger } from "../logger.ts";
import { limitNames, windowMs } from "./limit_kinds.ts";
import type { UsageCounts } from "./usage_counts.ts";

/** The file in `data_dir` with what callers used. */
export const usageFile = (dataDir: string): string => join(dataDir, "usage.sqlite");

interface UsageFileOptions {
  readonly path: string;
  readonly counts: UsageCounts;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
}

/** Keeps counts in a file, for the next start and for other processes with the same folder. */
export interface UsageFile extends Disposable {
  /** Writes what is new here, and reads what is new there. It also happens by itself, and never throws. */
  exchange(): void;
}

const exchangeEveryMs = 1_000;
/** In one go, so that nobody waits long for it; the others follow with the next. */
const mostCallers = 500;
/** Others' clocks may differ, and what they wrote may have come late. */
const lookBackMs = 10_000;
/** How often windows that are over leave the file, and how long they stay for others whose clocks may differ. */
const clearEveryMs = 60_000;
const keptAfterEndMs = 60_000;

/**
 * Reads what was used in the windows of now, and from then on exchanges it with the file.
 *
 * @throws {AppError} `invalid`, `conflict` or `unavailable`, naming the path, where the file cannot be used
 */
export function keepUsage({ path, counts, now, logger }: UsageFileOptions): UsageFile {
  const file = openSqliteFile(path, layout);
  const add = file.prepare(
    `INSERT INTO usage (caller, counted, start, used, at) VALUES (?, ?, ?, max(0, ?), ?)
       ON CONFLICT (caller, counted) DO UPDATE SET
         used = CASE WHEN start = excluded.start THEN max(0, used + ?)
                     WHEN start < excluded.start THEN excluded.used ELSE used END,
         start = max(start, excluded.start),
         at = excluded.at`,
  );
  const changed = file.prepare("SELECT caller, counted, start, used FROM usage WHERE at >= ?");
  const clear = file.prepare(clearSql);
  let lookedAt = 0;
  let clearedAt = 0;
  let hasFailed = false;
  let isClosed = false;

  function learn(): void {
    const time = now();
    for (const row of changed.all(lookedAt - lookBackMs)) {
      const limit = limitNames.find((name) => name === row.counted);
      if (limit === undefined || limit === "calls_at_once") continue;
      counts.learn({ caller: String(row.caller), limit, start: Number(row.start), used: Number(row.used) });
    }
    lookedAt = time;
  }

  function save(most: number): void {
    const rows = counts.takeUnsaved(most);
    if (rows.length === 0) return;
    const time = now();
    try {
      inTransaction(file, () => {
        for (const { caller, limit, start, used } of rows) add.run(caller, limit, start, used, time, used);
      });
    } catch (error) {
      counts.putBack(rows);
      throw error;
    }
  }

  /** What is over counts no more: the file has rows for the callers of the moment, and no others. */
  function clearEnded(): void {
    const time = now();
    if (Math.abs(time - clearedAt) < clearEveryMs) return;
    clearedAt = time;
    clear.run(...ended.map(([, lengthMs]) => time - lengthMs - keptAfterEndMs));
  }

  function exchange(most = mostCallers): void {
    if (isClosed) return;
    try {
      save(most);
      learn();
      clearEnded();
      hasFailed = false;
    } catch (error) {
      // once, until it works again: it is tried every second
      if (!hasFailed) logger.warn(`Cannot keep what callers used in ${path}; trying again`, { error });
      hasFailed = true;
    }
  }

  // as later: another process may have the file locked, and it is tried again
  exchange();
  const timer = setInterval(() => exchange(), exchangeEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);
  return {
    exchange: () => exchange(),
    [Symbol.dispose]() {
      if (isClosed) return;
      exchange(Infinity);
      isClosed = true;
      clearInterval(timer);
      file.close();
    },
  };
}

const ended = Object.entries(windowMs);
const clearSql = `DELETE FROM usage WHERE start <= CASE counted ${
  ended.map(([name]) => `WHEN '${name}' THEN ?`).join(" ")
} END`;

const layout: SqliteLayout = {
  kind: "usage",
  version: 1,
  tables: `
    CREATE TABLE usage (
      caller TEXT NOT NULL,
      counted TEXT NOT NULL,
      start INTEGER NOT NULL,
      used INTEGER NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (caller, counted)
    ) STRICT;
    CREATE INDEX usage_by_time ON usage (at)`,
  probes: ["SELECT caller, counted, start, used, at FROM usage LIMIT 0"],
  synchronous: "NORMAL",
  // rather later than hold up everyone behind another process's lock
  longestWaitMs: 25,
};
