import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../../core/app_error.ts";
import {
  checkSqliteFile,
  inTransaction,
  openSqliteFile,
  type SqliteLayout,
} from "../../core/files/sqlite_file.ts";
import type { Logger } from "../../core/logger.ts";
import {
  entriesPerOwner,
  entryLifetimeMs,
  type History,
  type HistoryEntry,
  isKept,
  replyText,
} from "./history.ts";

/** The history's file in `data_dir`. */
export const historyFile = (dataDir: string): string => join(dataDir, "turns.sqlite");

interface SqliteHistoryOptions {
  readonly path: string;
  readonly now: () => number;
  readonly logger: Logger;
}

// what is cleared in one go is bounded, so that a call after a long pause takes no longer than others
const expiredPerAdd = 100;
const expiredAtOnce = 1_000;
const noLimit = -1;

/** Where the file does not tell; nothing is kept then. */
const unknownGeneration = -1;

/**
 * A history in an SQLite file, which outlives the process and which several processes may share.
 *
 * @throws {AppError} `invalid`, `conflict` or `unavailable`, naming the path, where the file cannot be used
 */
export function createSqliteHistory({ path, now, logger }: SqliteHistoryOptions): History {
  const file = openSqliteFile(path, layout);
  const statements = prepareStatements(file);
  const expiry = () => now() - entryLifetimeMs;
  let isClosed = false;

  function orWarn<T>(doing: string, work: () => T, otherwise: T): T {
    try {
      return work();
    } catch (error) {
      logger.warn(`Cannot ${doing} ${path}; the request continues without it`, { error });
      return otherwise;
    }
  }

  function generationOf(owner: string): number {
    return Number(statements.generation.get(owner)?.generation ?? 0);
  }

  function clearExpired(most: number): void {
    try {
      const { changes } = statements.clearExpired.run(expiry(), most);
      statements.clearForgotten.run(expiry());
      // the log still holds what the table no longer does
      if (changes > 0) statements.emptyLog.get();
    } catch (error) {
      logger.warn(`Cannot delete expired history from ${path}; trying again later`, { error });
    }
  }

  // the program may have stood still for long, and nothing waits for a call yet
  clearExpired(noLimit);

  return {
    recent: (owner, databaseName) =>
      orWarn(
        "read the history in",
        () => statements.recent.all(owner, databaseName, expiry(), entriesPerOwner).map(asEntry),
        [],
      ),

    generation: (owner) => orWarn("read the history in", () => generationOf(owner), unknownGeneration),

    add(owner, entry, generation) {
      if (!isKept(entry) || generation === unknownGeneration) return;
      const { database, question, reply, at } = entry;
      const keep = () => {
        if (generationOf(owner) !== generation) return;
        statements.add.run(owner, database, question, reply.kind, replyText(entry), at);
        statements.clearOld.run(owner, owner, entriesPerOwner);
        statements.clearExpired.run(expiry(), expiredPerAdd);
      };
      orWarn("write the history to", () => inTransaction(file, keep), undefined);
    },

    forget(owner) {
      try {
        const count = Number(statements.count.get(owner, expiry())?.count);
        inTransaction(file, () => {
          statements.forget.run(owner);
          statements.beginGeneration.run(owner, now());
        });
        statements.emptyLog.get();
        return count;
      } catch (cause) {
        throw new AppError("unavailable", `Cannot clear the history in ${path}: try again later`, { cause });
      }
    },

    clearExpired: () => clearExpired(expiredAtOnce),

    [Symbol.dispose]() {
      if (isClosed) return;
      isClosed = true;
      file.close();
    },
  };
}

function prepareStatements(database: DatabaseSync) {
  return {
    recent: database.prepare(
      `SELECT database, question, kind, reply, at FROM (
         SELECT * FROM turns WHERE owner = ? AND database = ? AND at > ? ORDER BY id DESC LIMIT ?
       ) ORDER BY id`,
    ),
    add: database.prepare(
      "INSERT INTO turns (owner, database, question, kind, reply, at) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    clearOld: database.prepare(
      `DELETE FROM turns WHERE owner = ?
         AND id <= (SELECT id FROM turns WHERE owner = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`,
    ),
    clearExpired: database.prepare(
      "DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE at <= ? LIMIT ?)",
    ),
    generation: database.prepare("SELECT generation FROM forgotten WHERE owner = ?"),
    beginGeneration: database.prepare(
      `INSERT INTO forgotten (owner, generation, at) VALUES (?, 1, ?)
         ON CONFLICT (owner) DO UPDATE SET generation = generation + 1, at = excluded.at`,
    ),
    clearForgotten: database.prepare("DELETE FROM forgotten WHERE at <= ?"),
    count: database.prepare("SELECT count(*) AS count FROM turns WHERE owner = ? AND at > ?"),
    forget: database.prepare("DELETE FROM turns WHERE owner = ?"),
    emptyLog: database.prepare("PRAGMA wal_checkpoint(TRUNCATE)"),
  };
}

function asEntry(row: Readonly<Record<string, unknown>>): HistoryEntry {
  const text = String(row.reply);
  return {
    database: String(row.database),
    question: String(row.question),
    reply: row.kind === "statement" ? { kind: "statement", sql: text } : { kind: "question", text },
    at: Number(row.at),
  };
}

const layout: SqliteLayout = {
  kind: "history",
  version: 1,
  tables: `
    CREATE TABLE turns (
      id INTEGER PRIMARY KEY,
      owner TEXT NOT NULL,
      database TEXT NOT NULL,
      question TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('statement', 'question')),
      reply TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX turns_by_owner ON turns (owner, id);
    CREATE INDEX turns_by_time ON turns (at)`,
  additions: `
    CREATE TABLE IF NOT EXISTS forgotten (
      owner TEXT PRIMARY KEY,
      generation INTEGER NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;`,
  probes: [
    "SELECT id, owner, database, question, kind, reply, at FROM turns LIMIT 0",
    "SELECT owner, generation, at FROM forgotten LIMIT 0",
  ],
  synchronous: "NORMAL",
  // rather lose an entry than hold up everyone behind another process's lock
  longestWaitMs: 25,
};

/**
 * Whether a history could be opened, by the beginning of its file alone: nothing is made, changed or locked.
 *
 * @throws {AppError} as createSqliteHistory; one that does not exist yet can be made
 */
export const checkHistoryFile = (path: string): Promise<void> => checkSqliteFile(path, layout);
