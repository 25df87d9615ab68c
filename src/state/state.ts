import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import {
  type RunOptions,
  sql,
  type StateEngine,
  stateIsAway,
  type Statement,
  type StateRow,
} from "./engine.ts";

/** Something to remember. */
export interface StateRecord {
  readonly id: string;
  /** As JSON has it. */
  readonly value: unknown;
  /** Milliseconds since 1970, by the state's clock. */
  readonly expiresAt: number;
}

/** What became of a record: it was kept, or it is gone; of one that expires nothing is told. */
export type StateChange = (id: string, record: StateRecord | undefined) => void;

/** What a server must remember beyond its own end, and what all servers that use the state know together. */
export type State = ReturnType<typeof openState>;

/** The records of one kind, of which each process knows all. */
export type StateRecords = ReturnType<State["of"]>;

/** In a statement of `change`: the version of this change. */
export const currentVersion = sql`(SELECT version FROM clock)`;
const tick = sql`UPDATE clock SET version = version + 1`;

/** Statements that end records, and have those learn of it who follow them. @param which a condition on `records` */
export function endStatements(which: Statement, time: number): Statement[] {
  return [
    sql`INSERT INTO ended (kind, id, at, version)
      SELECT kind, id, CAST(${time} AS BIGINT), ${currentVersion} FROM records WHERE ${which}`,
    sql`DELETE FROM records WHERE ${which} RETURNING kind, id`,
  ];
}

const lookEveryMs = 1_000;
const sweepEveryMs = 60_000;
/** Of what has expired. */
const sweptAtOnce = 1_000;
/** How long it is remembered which records are gone; who has heard nothing for half of it reads all records again. */
const endedKeptMs = 10 * 60_000;
/** In one answer. */
const mostRows = 10_000;

export function openState({ engine, graceMs, logger }: {
  readonly engine: StateEngine;
  /** For how long what is known is relied on where a shared state cannot be reached. */
  readonly graceMs: number;
  readonly logger: Logger;
}) {
  const { name, isShared, now } = engine;
  const followers = new Map<string, StateChange[]>();
  const endListeners = new Map<string, ((id: string | undefined) => void)[]>();
  /** Kinds of which nothing has been read yet. */
  const unread = new Set<string>();
  /** By kind, what is to be forgotten and is not yet. */
  const toForget = new Map<string, Set<string>>();
  const knownIds = new Map<string, Map<string, number>>();
  let seen = 0;
  let hasAnswered = false;
  /** When all was known that others had changed. */
  let learntAt = -Infinity;
  /** Whether versions may have been lost that were known here. */
  let isAnew = false;
  /** What fails at the moment: what is read may work while nothing can be written. */
  const failing = new Set<"read" | "write to">();
  let isClosed = false;
  let sweptAt = -Infinity;

  async function run(statements: readonly Statement[], options?: RunOptions) {
    const rows = await engine.run(statements, options);
    hasAnswered = true;
    return rows;
  }
  const read = (statements: readonly Statement[]) => run(statements, { onlyReads: true });

  /** The ids of a kind that are known here, and when each expires. */
  function known(kind: string): Map<string, number> {
    const ids = knownIds.get(kind) ?? new Map<string, number>();
    knownIds.set(kind, ids);
    return ids;
  }

  function tell(kind: string, id: string, record: StateRecord | undefined): void {
    if (record === undefined) known(kind).delete(id);
    else if (toForget.get(kind)?.has(id)) return;
    else known(kind).set(id, record.expiresAt);
    for (const told of followers.get(kind) ?? []) told(id, record);
  }

  function tellEnded(kind: string, id: string | undefined): void {
    for (const told of endListeners.get(kind) ?? []) told(id);
  }

  /** Reads what came after a version, in the order in which it came. */
  async function readChanges(): Promise<void> {
    for (;;) {
      const since = seen;
      const kinds = [...followers.keys()].filter((kind) => !unread.has(kind));
      const [clock, changed = [], ended = []] = await read([
        sql`SELECT version FROM clock`,
        sql`SELECT kind, id, value, expires_at, version FROM records
          WHERE version > ${since} AND kind IN (${kinds}) ORDER BY version LIMIT ${mostRows}`,
        sql`SELECT kind, id, version FROM ended
          WHERE version > ${since} AND kind IN (${[...kinds, ...endListeners.keys()]})
          ORDER BY version LIMIT ${mostRows}`,
      ]);
      learntAt = performance.now();
      const rows = [...changed, ...ended].toSorted((one, other) => versionOf(one) - versionOf(other));
      // where there is more, all of a version is read again with what follows
      const cuts = [changed, ended].filter(({ length }) => length === mostRows);
      const upTo = Math.min(versionOf(clock?.[0]), ...cuts.map((cut) => versionOf(cut.at(-1)) - 1));
      for (const row of rows) if (versionOf(row) <= upTo || cuts.length === 0) apply(row);
      seen = Math.max(seen, upTo);
      if (cuts.length === 0) return;
    }
  }

  /** Reads all records of a kind, as they came: those that are known and no longer there have ended. */
  async function readAll(kind: string): Promise<void> {
    const missing = new Set(known(kind).keys());
    for (let after = 0, isCut = true; isCut;) {
      const [rows = []] = await read([
        sql`SELECT kind, id, value, expires_at, version FROM records WHERE kind = ${kind} AND version > ${after}
          ORDER BY version LIMIT ${mostRows}`,
      ]);
      for (const row of rows) {
        missing.delete(String(row["id"]));
        apply(row);
      }
      isCut = rows.length === mostRows;
      after = versionOf(rows.at(-1)) - 1;
    }
    for (const id of missing) tell(kind, id, undefined);
    unread.delete(kind);
  }

  async function learn(): Promise<void> {
    const isFirst = learntAt === -Infinity;
    // changes are remembered for some time alone
    const isOutdated = isAnew || performance.now() - learntAt > endedKeptMs / 2;
    isAnew = false;
    try {
      if (isOutdated) {
        // first, since what is read whole may be older than what changed
        seen = await versionNow();
        for (const kind of followers.keys()) unread.add(kind);
      }
      for (const kind of unread) await readAll(kind);
      if (isOutdated && !isFirst) { for (const kind of endListeners.keys()) tellEnded(kind, undefined); }
      await readChanges();
    } catch (error) {
      isAnew ||= isOutdated;
      throw error;
    }
  }

  async function versionNow(): Promise<number> {
    const [clock] = await read([sql`SELECT version FROM clock`]);
    return versionOf(clock?.[0]);
  }

  function apply(row: StateRow): void {
    const { kind, id, value, expires_at: expiresAt } = row;
    if (value === undefined) {
      tell(String(kind), String(id), undefined);
      return tellEnded(String(kind), String(id));
    }
    if (Number(expiresAt) <= now()) return;
    tell(String(kind), String(id), {
      id: String(id),
      value: JSON.parse(String(value)),
      expiresAt: Number(expiresAt),
    });
  }

  const catchUp = oneAtATime(learn);

  async function orWarn(doing: "read" | "write to", work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      failing.delete(doing);
      return true;
    } catch (error) {
      if (isClosed) return false;
      // once, until it works again: it is tried every second
      const loss = isShared ? "" : ": a restart forgets what changes now";
      if (!failing.has(doing)) logger.warn(`Cannot ${doing} the state in ${name}${loss}`, { error });
      failing.add(doing);
      return false;
    }
  }

  async function change(statements: readonly Statement[], options?: RunOptions) {
    const [, ...rows] = await run([tick, ...statements], options);
    for (const { kind, id, ...others } of rows.flat()) {
      // what `endStatements` ended; other processes learn of it when they look
      if (kind !== undefined && Object.keys(others).length === 0) tellEnded(String(kind), String(id));
    }
    return rows;
  }

  async function forgetAll(): Promise<void> {
    for (const [kind, ids] of toForget) {
      const some = [...ids];
      await change(endStatements(sql`kind = ${kind} AND id IN (${some})`, now()), { isTold: true });
      for (const id of some) ids.delete(id);
      // another set may have taken its place meanwhile
      if (ids.size === 0 && toForget.get(kind) === ids) toForget.delete(kind);
    }
  }

  // what is forgotten meanwhile is written together
  const forgetSoon = oneAtATime(() => orWarn("write to", forgetAll));

  async function sweep(): Promise<void> {
    sweptAt = performance.now();
    for (const ids of knownIds.values()) {
      for (const [id, expiresAt] of ids) if (expiresAt <= now()) ids.delete(id);
    }
    await change([
      sql`DELETE FROM records WHERE (kind, id) IN
        (SELECT kind, id FROM records WHERE expires_at <= ${now()} LIMIT ${sweptAtOnce})`,
      sql`DELETE FROM ended WHERE at <= ${now() - endedKeptMs}`,
    ], { erases: true });
  }

  /** What goes on by itself. */
  async function look(): Promise<void> {
    if (toForget.size > 0) await orWarn("write to", forgetAll);
    await orWarn("read", catchUp);
    if (performance.now() - sweptAt > sweepEveryMs) await orWarn("write to", sweep);
  }

  engine.onChanged((reachedAnew) => {
    isAnew ||= reachedAnew;
    void orWarn("read", catchUp);
  });
  // the program may have stood still for long
  void orWarn("write to", sweep);
  // a file tells by itself when another process has written
  const timer = setInterval(() => {
    if (isShared || toForget.size > 0 || performance.now() - sweptAt > sweepEveryMs) void look();
  }, lookEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);
  return {
    /** Whether other servers use it too. */
    isShared,
    /** Milliseconds since 1970, by the clock that all who use the state share. */
    now,
    of: (kind: string) => ({
      /**
       * Keeps a record, in place of one with its id. Once it resolves, this process knows what others changed until then.
       *
       * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where the state is shared and cannot be reached; another
       * state that fails is told in the log, and the record lasts as long as the process
       */
      async keep({ id, value, expiresAt }: StateRecord): Promise<void> {
        const write = () =>
          change([
            sql`INSERT INTO records (kind, id, value, created_at, expires_at, version)
              VALUES (${kind}, ${id}, ${JSON.stringify(value)}, ${now()}, ${
              Math.ceil(expiresAt)
            }, ${currentVersion})
              ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at,
                version = excluded.version`,
          ], { isTold: true });
        if (!isShared) return void await orWarn("write to", write);
        await write();
        await catchUp();
      },
      /**
       * Forgets a record, here at once, and tries until it is done everywhere: what was ended stays ended.
       *
       * @returns whether it is done; otherwise it is tried again for as long as this process lives
       */
      forget(id: string): Promise<boolean> {
        const ids = toForget.get(kind) ?? new Set();
        toForget.set(kind, ids.add(id));
        return forgetSoon();
      },
      /** Tells of each record that there is, and from then on of what other processes keep and forget. */
      follow(onChange: StateChange): void {
        const others = followers.get(kind) ?? [];
        followers.set(kind, [...others, onChange]);
        unread.add(kind);
      },
    }),
    /** Tells of each record of a kind that is ended, here or elsewhere; undefined: any may have been. */
    onEnded(kind: string, listener: (id: string | undefined) => void): void {
      endListeners.set(kind, [...endListeners.get(kind) ?? [], listener]);
    },
    /**
     * Learns what other processes have changed until now, which also happens by itself, within a second.
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`
     */
    catchUp,
    /** Whether anything was heard of it. */
    hasAnswered: () => hasAnswered,
    /** Whether it answers at the moment. */
    isReachable: () => performance.now() - learntAt < 3 * lookEveryMs,
    /**
     * Whether what is known here may still be relied on.
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where nothing was heard of the state for too long
     */
    requireCurrent(): void {
      if (!isShared || performance.now() - learntAt <= graceMs) return;
      throw new AppError("unavailable", stateIsAway, { data: { retryAfterSeconds: 1 } });
    },
    /** Runs statements that change nothing. @throws as {@linkcode StateEngine.run} */
    read,
    /**
     * Runs statements in one transaction, after the clock was counted up, so that `currentVersion` is theirs alone.
     *
     * @throws as {@linkcode StateEngine.run}
     */
    change,
    async [Symbol.asyncDispose](): Promise<void> {
      if (isClosed) return;
      clearInterval(timer);
      if (toForget.size > 0) await orWarn("write to", forgetAll);
      isClosed = true;
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** Work of which one runs at a time; all who ask for it meanwhile get the next. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  return function ask(): Promise<T> {
    if (current === undefined) return current = work().finally(() => current = undefined);
    return next ??= current.catch(() => {}).then(() => {
      next = undefined;
      return ask();
    });
  };
}

function versionOf(row: StateRow | undefined): number {
  return Number(row?.["version"] ?? 0);
}
