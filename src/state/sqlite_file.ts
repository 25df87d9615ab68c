import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../core/app_error.ts";
import { isOpenToOthers } from "../core/files/file_access.ts";

/** What an SQLite file of ours holds. */
export interface SqliteLayout {
  /** What the file is, in messages: `history`. */
  readonly kind: string;
  /** Of `tables`; a file with a higher one is a newer program's. */
  readonly version: number;
  /** Makes the tables in an empty file. */
  readonly tables: string;
  /** Statements that fail where the tables are others. */
  readonly probes: readonly string[];
  /** How safe a write is where the power fails: SQLite's `synchronous`. */
  readonly synchronous: "NORMAL" | "FULL";
  /** A call waits on the event loop's thread for another process's lock. */
  readonly longestWaitMs: number;
}

const longestWaitAtOpeningMs = 5000;

/**
 * Opens an SQLite file, which it makes where it is missing, readable by its owner alone. Several processes may have one
 * file open.
 *
 * @param path undefined: in memory
 * @throws {AppError} `invalid` for a file that is damaged or not of this kind, `conflict` for one of a newer program,
 * `unavailable` where it cannot be opened or made; each names the path
 */
export function openSqliteFile(path: string | undefined, layout: SqliteLayout): DatabaseSync {
  const name = path ?? ":memory:";
  let database: DatabaseSync | undefined;
  try {
    if (path !== undefined) makePrivate(path);
    database = new DatabaseSync(name);
    prepareDatabase(database, name, layout);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof AppError ? error : cannotOpen(name, layout, error);
  }
}

/** Runs a change whole or not at all, against other processes too; what only reads waits for none with `DEFERRED`. */
export function inTransaction<T>(
  database: DatabaseSync,
  change: () => T,
  kind: "IMMEDIATE" | "DEFERRED",
): T {
  database.exec(`BEGIN ${kind}`);
  try {
    const result = change();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // SQLite has done so by itself, as where the disk is full; Deno before 2.9 cannot tell whether it has
    }
    throw error;
  }
}

function prepareDatabase(database: DatabaseSync, path: string, layout: SqliteLayout): void {
  // secure_delete: what is deleted shall not stay readable in the file's free pages
  database.exec(`
    PRAGMA busy_timeout = ${longestWaitAtOpeningMs};
    PRAGMA synchronous = ${layout.synchronous};
    PRAGMA secure_delete = ON;`);
  useWriteAheadLog(database);
  if (pragma(database, "quick_check(1)") !== "ok") throw cannotOpen(path, layout, new Error("malformed"));
  database.exec("BEGIN IMMEDIATE");
  const version = Number(pragma(database, "user_version"));
  refuseNewer(path, version, layout);
  if (version === 0) database.exec(`${layout.tables}; PRAGMA user_version = ${layout.version}`);
  for (const probe of layout.probes) database.exec(probe);
  database.exec(`COMMIT; PRAGMA busy_timeout = ${layout.longestWaitMs}`);
}

function refuseNewer(path: string, version: number, layout: SqliteLayout): void {
  if (version <= layout.version) return;
  throw new AppError(
    "conflict",
    `Cannot open ${path}: a newer version of Postern wrote it (layout ${version}; this version knows up to ` +
      `${layout.version}); run that version, or set data_dir to another folder`,
  );
}

/** Where SQLite's file format has the user version: four bytes, the highest first. */
const versionOffset = 60;

/**
 * Whether a file could be opened, by its beginning alone: nothing is made, changed or locked.
 *
 * @throws {AppError} as openSqliteFile; one that does not exist yet can be made
 */
export async function checkSqliteFile(path: string, layout: SqliteLayout): Promise<void> {
  let header: Uint8Array;
  try {
    using file = await Deno.open(path);
    header = new Uint8Array(versionOffset + 4);
    if ((await file.read(header) ?? 0) < header.length) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return;
    throw cannotOpen(path, layout, error);
  }
  refuseNewer(path, new DataView(header.buffer).getUint32(versionOffset), layout);
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

function cannotOpen(path: string, { kind }: SqliteLayout, cause: unknown): AppError {
  if (cause instanceof Deno.errors.PermissionDenied) {
    return new AppError("unavailable", `Cannot open ${path}: permission denied`, { cause });
  }
  const reason = cause instanceof Error ? cause.message : "";
  if (/not a database|malformed|no such|already exists/.test(reason)) {
    return new AppError(
      "invalid",
      `Cannot open ${path}: it is damaged or not a ${kind} file; remove it to start with an empty ${kind}`,
      { cause },
    );
  }
  return new AppError("unavailable", `Cannot open ${path}: ${reason || "the file system refused"}`, {
    cause,
  });
}
