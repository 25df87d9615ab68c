import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { AppError } from "../core/app_error.ts";
import { isOpenToOthers } from "../core/files/file_access.ts";
import { ignoreMissing } from "../core/files/replace_file.ts";
import { layoutVersion, probes, type StateEngine, tables } from "./engine.ts";

/** The file in `data_dir` with what a server must remember. */
export const stateFile = (dataDir: string): string => join(dataDir, "state.sqlite");

const longestWaitAtOpeningMs = 5000;
/** How long a call waits, on the event loop's thread, for another process's lock. */
const longestWaitMs = 2_000;
/** Of what may be lost: rather that than hold up everyone. */
const shortWaitMs = 25;
/** Another process that has the file open says nothing of what it changes. */
const lookEveryMs = 250;

/**
 * The state in an SQLite file, which several processes may share, or in memory. The file is made where it is missing,
 * readable by its owner alone.
 *
 * @param path of the file; undefined: in memory, for as long as the process lives
 * @throws {AppError} `invalid` for a file that is damaged or no state, `conflict` for one of a newer program,
 * `unavailable` where it cannot be opened or made; each names the path
 */
export function openSqliteEngine(path: string | undefined, now: () => number): StateEngine {
  const database = openDatabase(path);
  const prepared = new Map<string, StatementSync>();
  const listeners: ((isAnew: boolean) => void)[] = [];
  let isHasty = false;
  let isClosed = false;
  // another number whenever another connection has written
  const version = database.prepare("PRAGMA data_version");
  let seen = version.get()?.["data_version"];

  function prepare(text: readonly string[]): StatementSync {
    const whole = text.join("?");
    const known = prepared.get(whole) ?? database.prepare(whole);
    prepared.set(whole, known);
    return known;
  }

  /** Tells of changes of other processes. */
  function look(): void {
    try {
      const current = version.get()?.["data_version"];
      if (current === seen) return;
      seen = current;
    } catch {
      // whoever asks next is told why it cannot be read
    }
    for (const listener of listeners) listener(false);
  }
  const timer = path === undefined ? undefined : setInterval(look, lookEveryMs);
  // it alone does not keep the process alive
  if (timer !== undefined) Deno.unrefTimer(timer);

  return {
    name: path ?? "memory",
    isShared: false,
    // as a promise, so that what it throws is a rejection
    run: (statements, { onlyReads = false, mayBeLost = false, erases = false } = {}) =>
      new Promise((resolve) => {
        if (!onlyReads && mayBeLost !== isHasty) hurry(database, isHasty = mayBeLost);
        const rows = inTransaction(
          database,
          () => statements.map(({ text, values }) => prepare(text).all(...values)),
          onlyReads ? "DEFERRED" : "IMMEDIATE",
        );
        // the log still holds what the tables no longer do
        if (erases) prepare(["PRAGMA wal_checkpoint(TRUNCATE)"]).get();
        resolve(rows);
      }),
    onChanged: (listener) => void listeners.push(listener),
    now,
    [Symbol.asyncDispose]() {
      if (!isClosed) database.close();
      isClosed = true;
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}

function hurry(database: DatabaseSync, isHasty: boolean): void {
  database.exec(
    isHasty
      ? `PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = ${shortWaitMs}`
      : `PRAGMA synchronous = FULL; PRAGMA busy_timeout = ${longestWaitMs}`,
  );
}

/** Runs a change whole or not at all, against other processes too; what only reads waits for none with `DEFERRED`. */
function inTransaction<T>(database: DatabaseSync, change: () => T, kind: "IMMEDIATE" | "DEFERRED"): T {
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

function openDatabase(path: string | undefined): DatabaseSync {
  const name = path ?? ":memory:";
  let database: DatabaseSync | undefined;
  try {
    if (path !== undefined) makePrivate(path);
    database = new DatabaseSync(name);
    prepareDatabase(database, name);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof AppError ? error : cannotOpen(name, error);
  }
}

function prepareDatabase(database: DatabaseSync, path: string): void {
  // FULL: a session that was ended must not be good again after a power cut; secure_delete: what is deleted shall not
  // stay readable in the file's free pages
  database.exec(`
    PRAGMA busy_timeout = ${longestWaitAtOpeningMs};
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;`);
  useWriteAheadLog(database);
  if (pragma(database, "quick_check(1)") !== "ok") throw cannotOpen(path, new Error("malformed"));
  database.exec("BEGIN IMMEDIATE");
  const version = Number(pragma(database, "user_version"));
  refuseNewer(path, version);
  if (version === 0) database.exec(`${tables.join(";\n")}; PRAGMA user_version = ${layoutVersion}`);
  for (const probe of probes) database.exec(probe);
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
 * Whether a file could be opened, by its beginning alone: nothing is made, changed or locked.
 *
 * @throws {AppError} as openSqliteEngine; a file that does not exist yet can be made
 */
export async function checkStateFile(path: string): Promise<void> {
  let header: Uint8Array;
  try {
    using file = await Deno.open(path);
    header = new Uint8Array(versionOffset + 4);
    if ((await file.read(header) ?? 0) < header.length) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return;
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
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      if (isOpenToOthers(Deno.statSync(file))) Deno.chmodSync(file, 0o600);
    } catch (error) {
      ignoreMissing(error);
    }
  }
}

function cannotOpen(path: string, cause: unknown): AppError {
  if (cause instanceof Deno.errors.PermissionDenied) {
    return new AppError("unavailable", `Cannot open ${path}: permission denied`, { cause });
  }
  const reason = cause instanceof Error ? cause.message : "";
  if (/not a database|malformed|no such|already exists/.test(reason)) {
    const why = "it is damaged or not a state file; remove it to start with an empty state";
    return new AppError("invalid", `Cannot open ${path}: ${why}`, { cause });
  }
  return new AppError("unavailable", `Cannot open ${path}: ${reason || "the file system refused"}`, {
    cause,
  });
}
