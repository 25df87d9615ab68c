import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { StateEngine } from "./engine.ts";
import { layoutVersion, probes, tables } from "./layout.ts";
import { checkSqliteFile, inTransaction, openSqliteFile, type SqliteLayout } from "./sqlite_file.ts";

/** The file in `data_dir` with what a server must remember. */
export const stateFile = (dataDir: string): string => join(dataDir, "state.sqlite");

/** How long a call waits, on the event loop's thread, for another process's lock. */
const longestWaitMs = 2_000;
/** Of what may be lost: rather that than hold up everyone. */
const shortWaitMs = 25;
/** Another process that has the file open says nothing of what it changes. */
const lookEveryMs = 250;

const layout: SqliteLayout = {
  kind: "state",
  version: layoutVersion,
  tables: tables.join(";\n"),
  probes,
  // a session that was ended must not be good again after a power cut
  synchronous: "FULL",
  longestWaitMs,
};

/**
 * The state in an SQLite file, which several processes may share, or in memory.
 *
 * @param path of the file; undefined: in memory, for as long as the process lives
 * @throws {AppError} `invalid`, `conflict` or `unavailable`, naming the path, where the file cannot be used
 */
export function openSqliteEngine(path: string | undefined, now: () => number): StateEngine {
  const database = openSqliteFile(path, layout);
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

/** @throws {AppError} as openSqliteEngine; a file that does not exist yet can be made */
export const checkStateFile = (path: string): Promise<void> => checkSqliteFile(path, layout);
