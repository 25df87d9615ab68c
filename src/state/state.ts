import { join } from "node:path";
import { checkSqliteFile, openSqliteFile, type SqliteLayout } from "../core/files/sqlite_file.ts";
import type { Logger } from "../core/logger.ts";

/** The file in `data_dir` with what a server must remember. */
export const stateFile = (dataDir: string): string => join(dataDir, "state.sqlite");

/** Something to remember. */
export interface StateRecord {
  readonly id: string;
  /** As JSON has it. */
  readonly value: unknown;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The records of one kind. Nothing here throws: what cannot be kept is told in the log, and lasts as long as the process. */
export interface StateRecords {
  /** Those that have not expired, the first to expire first; undefined where it cannot be told. */
  all(): readonly StateRecord[] | undefined;
  /** Keeps a record, in place of one with its id. */
  keep(record: StateRecord): void;
  /** @returns whether it is forgotten */
  forget(id: string): boolean;
  /** Told, within a second, when another process has changed something. */
  onChanged(listener: () => void): void;
}

export interface State extends Disposable {
  of(kind: string): StateRecords;
  /** Looks whether another process has changed something; it also happens by itself. */
  lookForChanges(): void;
}

interface StateOptions {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
}

const lookEveryMs = 1_000;

/**
 * What a server must remember beyond its own end, in an SQLite file that several processes may share.
 *
 * @throws {AppError} `invalid`, `conflict` or `unavailable`, naming the path, where the file cannot be used
 */
export function openState({ path, now, logger }: StateOptions): State {
  const file = openSqliteFile(path, layout);
  const select = file.prepare(
    "SELECT id, value, expires_at FROM records WHERE kind = ? AND expires_at > ? ORDER BY expires_at, id",
  );
  const insert = file.prepare(
    `INSERT INTO records (kind, id, value, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  );
  const remove = file.prepare("DELETE FROM records WHERE kind = ? AND id = ?");
  const clear = file.prepare("DELETE FROM records WHERE expires_at <= ?");
  // another number whenever another connection has written
  const version = file.prepare("PRAGMA data_version");
  const listeners: (() => void)[] = [];
  let isClosed = false;
  let hasFailed = false;
  let seen = version.get()?.data_version;

  function orWarn<T>(doing: string, work: () => T): T | undefined {
    if (isClosed) return undefined;
    try {
      const result = work();
      hasFailed = false;
      return result;
    } catch (error) {
      // once, until it works again: it is tried every second
      if (!hasFailed) logger.warn(`Cannot ${doing} ${path}: a restart forgets what changes now`, { error });
      hasFailed = true;
      return undefined;
    }
  }

  function lookForChanges(): void {
    orWarn("read", () => {
      const current = version.get()?.data_version;
      if (current === seen) return;
      seen = current;
      for (const listener of listeners) listener();
    });
  }

  orWarn("write to", () => clear.run(now()));
  const timer = setInterval(lookForChanges, lookEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);
  return {
    of: (kind) => ({
      all: () =>
        orWarn("read", () =>
          select.all(kind, now()).map(({ id, value, expires_at }) => ({
            id: String(id),
            value: JSON.parse(String(value)),
            expiresAt: Number(expires_at),
          }))),
      keep({ id, value, expiresAt }) {
        orWarn("write to", () => {
          insert.run(kind, id, JSON.stringify(value), expiresAt);
          clear.run(now());
        });
      },
      forget: (id) => orWarn("write to", () => remove.run(kind, id)) !== undefined,
      onChanged: (listener) => void listeners.push(listener),
    }),
    lookForChanges,
    [Symbol.dispose]() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      file.close();
    },
  };
}

const layout: SqliteLayout = {
  kind: "state",
  version: 1,
  tables: `
    CREATE TABLE records (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      value TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX records_by_end ON records (expires_at)`,
  probes: ["SELECT kind, id, value, expires_at FROM records LIMIT 0"],
  // a session that was ended must not be good again after a power cut
  synchronous: "FULL",
  longestWaitMs: 1_000,
};

/** @throws {AppError} as openState; a file that does not exist yet can be made */
export const checkStateFile = (path: string): Promise<void> => checkSqliteFile(path, layout);
