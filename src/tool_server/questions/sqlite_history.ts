import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../core/app_error.ts";
import { isOpenToOthers } from "../../core/files/file_access.ts";
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

export interface SqliteHistoryOptions {
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
  const file = openFile(path);
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

  function rollBack(): void {
    try {
      file.exec("ROLLBACK");
    } catch {
      // SQLite has done so by itself, as where the disk is full; Deno before 2.9 cannot tell whether it has
    }
  }

  function transaction(change: () => void): void {
    file.exec("BEGIN IMMEDIATE");
    try {
      change();
      file.exec("COMMIT");
    } catch (error) {
      rollBack();
      throw error;
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
      orWarn("write the history to", () => transaction(keep), undefined);
    },

    forget(owner) {
      try {
        const count = Number(statements.count.get(owner, expiry())?.count);
        transaction(() => {
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

/** The layout below; a file with a higher one is a newer program's. */
const layoutVersion = 1;

const layout = `
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
  CREATE INDEX turns_by_time ON turns (at);
  PRAGMA user_version = ${layoutVersion};`;

// beside the layout and not in its number: a program that does not know it works with the file all the same
const forgotten = `
  CREATE TABLE IF NOT EXISTS forgotten (
    owner TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;`;

// a call waits on the event loop's thread: rather lose an entry than hold up everyone behind another process's lock
const longestWaitMs = 25;
const longestWaitAtOpeningMs = 5000;

/**
 * Opens the SQLite file, which it makes where it is missing, readable by its owner alone. Several processes may have
 * one file open.
 *
 * @throws {AppError} `invalid` for a file that is damaged or not of this kind, `conflict` for one of a newer program,
 * `unavailable` where it cannot be opened or made; each names the path
 */
function openFile(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    makePrivate(path);
    database = new DatabaseSync(path);
    prepareDatabase(database, path);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof AppError ? error : cannotOpen(path, error);
  }
}

function prepareDatabase(database: DatabaseSync, path: string): void {
  // secure_delete: what is forgotten shall not stay readable in the file's free pages
  database.exec(`
    PRAGMA busy_timeout = ${longestWaitAtOpeningMs};
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;`);
  useWriteAheadLog(database);
  if (pragma(database, "quick_check(1)") !== "ok") throw cannotOpen(path, new Error("malformed"));
  database.exec("BEGIN IMMEDIATE");
  const version = Number(pragma(database, "user_version"));
  refuseNewer(path, version);
  if (version === 0) database.exec(layout);
  database.exec(forgotten);
  database.exec("SELECT id, owner, database, question, kind, reply, at FROM turns LIMIT 0");
  database.exec("SELECT owner, generation, at FROM forgotten LIMIT 0");
  database.exec(`COMMIT; PRAGMA busy_timeout = ${longestWaitMs}`);
}

function refuseNewer(path: string, version: number): void {
  if (version <= layoutVersion) return;
  throw new AppError(
    "conflict",
    `Cannot open ${path}: a newer version of Postern wrote it (layout ${version}; this version knows up to ` +
      `${layoutVersion}); run that version, or set data_dir to another folder`,
  );
}

/** Where SQLite's file format has the user version: four bytes, the highest first. */
const versionOffset = 60;

/**
 * Whether a history could be opened, by the beginning of its file alone: nothing is made, changed or locked.
 *
 * @throws {AppError} as createSqliteHistory; one that does not exist yet can be made
 */
export async function checkHistoryFile(path: string): Promise<void> {
  let header: Uint8Array;
  try {
    using file = await Deno.open(path);
    header = new Uint8Array(versionOffset + 4);
    if ((await file.read(header) ?? 0) < header.length) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw cannotOpen(path, error);
  }
  refuseNewer(path, new DataView(header.buffer).getUint32(versionOffset));
}

/** Tries again by itself: SQLite does not wait for others that change the mode of a new file at the same moment. */
function useWriteAheadLog(database: DatabaseSync): void {
  const pauseMs = 20;
  for (let waited = 0;; waited += pauseMs) {
    try {
      return database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      if (waited >= longestWaitAtOpeningMs || !String(error).includes("locked")) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

/** Before SQLite sees the path: the files that it makes beside this one get this one's mode. */
function makePrivate(path: string): void {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    Deno.openSync(path, { createNew: true, write: true, mode: 0o600 }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) tighten(file);
}

function tighten(file: string): void {
  try {
    if (isOpenToOthers(Deno.statSync(file))) Deno.chmodSync(file, 0o600);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function cannotOpen(path: string, cause: unknown): AppError {
  if (cause instanceof Deno.errors.PermissionDenied) {
    return new AppError("unavailable", `Cannot open ${path}: permission denied`, { cause });
  }
  const reason = cause instanceof Error ? cause.message : "";
  if (/not a database|malformed|no such|already exists/.test(reason)) {
    return new AppError(
      "invalid",
      `Cannot open ${path}: it is damaged or not a history file; remove it to start with an empty history`,
      { cause },
    );
  }
  return new AppError("unavailable", `Cannot open ${path}: ${reason || "the file system refused"}`, {
    cause,
  });
}
