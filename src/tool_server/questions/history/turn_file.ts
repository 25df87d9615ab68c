import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../../core/app_error.ts";
import { isOpenToOthers } from "../../../core/files/file_access.ts";

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

// a call waits on the event loop's thread: rather lose a turn than hold up everyone behind another process's lock
const longestWaitMs = 25;
const longestWaitAtOpeningMs = 5000;

/**
 * Opens the SQLite file of turns, which it makes where it is missing, readable by its owner alone. Several processes
 * may have one file open.
 *
 * @throws {AppError} `invalid` for a file that is damaged or not of this kind, `conflict` for one of a newer program,
 * `unavailable` where it cannot be opened or made; each names the path
 */
export function openTurnFile(path: string): DatabaseSync {
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
  if (version > layoutVersion) {
    throw new AppError("conflict", `Cannot open ${path}: a newer version of the program wrote it`);
  }
  if (version === 0) database.exec(layout);
  database.exec(forgotten);
  database.exec("SELECT id, owner, database, question, kind, reply, at FROM turns LIMIT 0");
  database.exec("SELECT owner, generation, at FROM forgotten LIMIT 0");
  database.exec(`COMMIT; PRAGMA busy_timeout = ${longestWaitMs}`);
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
      `Cannot open ${path}: it is damaged or not a file of turns; remove it to start with none`,
      { cause },
    );
  }
  return new AppError("unavailable", `Cannot open ${path}: ${reason || "the file system refused"}`, {
    cause,
  });
}
