import type { DatabaseSync } from "node:sqlite";
import { AppError } from "../../../core/app_error.ts";
import type { Logger } from "../../../core/logger.ts";
import { openTurnFile } from "./turn_file.ts";
import { isKept, replyText, type Turn, turnLifetimeMs, turnsPerOwner, type TurnStore } from "./turns.ts";

export interface SqliteTurnsOptions {
  readonly path: string;
  readonly now: () => number;
  readonly logger: Logger;
}

// what is cleared in one go is bounded, so that a call after a long pause takes no longer than others
const expiredPerAdd = 100;
const expiredAtOnce = 1_000;
const noLimit = -1;

/** Where the file does not tell; no turn is kept then. */
const unknownGeneration = -1;

/**
 * Turns in an SQLite file, which outlive the process and which several processes may share.
 *
 * @throws {AppError} `invalid`, `conflict` or `unavailable`, naming the path, where the file cannot be used
 */
export function createSqliteTurns({ path, now, logger }: SqliteTurnsOptions): TurnStore {
  const database = openTurnFile(path);
  const statements = prepareStatements(database);
  const expiry = () => now() - turnLifetimeMs;
  let isClosed = false;

  function warn(doing: string, error: unknown): void {
    logger.warn(`Cannot ${doing} ${path}; the question goes on without`, { error });
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
      logger.warn(`Cannot clear what has expired from ${path}; it is tried again later`, { error });
    }
  }

  function rollBack(): void {
    try {
      database.exec("ROLLBACK");
    } catch {
      // SQLite has done so by itself, as where the disk is full; Deno before 2.9 cannot tell whether it has
    }
  }

  function transaction(change: () => void): void {
    database.exec("BEGIN IMMEDIATE");
    try {
      change();
      database.exec("COMMIT");
    } catch (error) {
      rollBack();
      throw error;
    }
  }

  // the program may have stood still for long, and nothing waits for a call yet
  clearExpired(noLimit);

  return {
    recent(owner, databaseName) {
      try {
        return statements.recent.all(owner, databaseName, expiry(), turnsPerOwner).map(asTurn);
      } catch (error) {
        warn("read the earlier turns from", error);
        return [];
      }
    },

    generation(owner) {
      try {
        return generationOf(owner);
      } catch (error) {
        warn("read the earlier turns from", error);
        return unknownGeneration;
      }
    },

    add(owner, turn, generation) {
      if (!isKept(turn) || generation === unknownGeneration) return;
      try {
        transaction(() => {
          if (generationOf(owner) !== generation) return;
          statements.add.run(owner, turn.database, turn.question, turn.reply.kind, replyText(turn), turn.at);
          statements.clearOld.run(owner, owner, turnsPerOwner);
          statements.clearExpired.run(expiry(), expiredPerAdd);
        });
      } catch (error) {
        warn("keep the turn in", error);
      }
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
        throw new AppError("unavailable", `Cannot forget the turns in ${path}: try again later`, { cause });
      }
    },

    clearExpired: () => clearExpired(expiredAtOnce),

    [Symbol.dispose]() {
      if (isClosed) return;
      isClosed = true;
      database.close();
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

function asTurn(row: Readonly<Record<string, unknown>>): Turn {
  const text = String(row.reply);
  return {
    database: String(row.database),
    question: String(row.question),
    reply: row.kind === "statement" ? { kind: "statement", sql: text } : { kind: "question", text },
    at: Number(row.at),
  };
}
