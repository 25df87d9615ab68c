import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { createLatestByText } from "../../core/latest_by_text.ts";
import { createHistogram, type Histogram } from "../../core/metrics/metric_family.ts";
import { callerKey, type Principal } from "../../core/principal.ts";
import { type Span, spanned } from "../../core/tracing.ts";
import { compileGrammar, maxStatementLength } from "./parser.ts";
import { createStatementGuard, type GuardResult } from "./statement_guard.ts";
import { createGate } from "../../core/admission.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { isTimeout, withDeadline } from "../../core/async/deadline.ts";
import { startThread } from "../../core/async/thread.ts";
import type { CheckReply, CheckRequest } from "./check_worker.ts";

/** The caller of a check, and the signal that drops it from the queue; a check that has begun runs to its end. */
export interface Asker {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** The values that come with the statement, for `$1` and on; none where absent. */
  readonly parameters?: { readonly length: number };
  /** Optional; none where it is not traced. A result that is remembered leaves no span. */
  readonly span?: Span | undefined;
}

/**
 * The statement guard for a server with many callers. A check that takes longer than a few milliseconds runs on a
 * separate thread, so that one caller's statements do not delay another's.
 */
export type CheckScheduler = Omit<Awaited<ReturnType<typeof createCheckScheduler>>, typeof Symbol.dispose>;

/**
 * In UTF-16 units. The worst known statement of this length takes 5 ms, and most take less than 1 ms. A thread adds
 * 0.5 ms.
 */
const maxInlineLength = 1_000;

/** After so long, checking pauses and lets other work of the process run. */
const sliceMs = 4;

/** The worst known statement that is short enough to be parsed takes a quarter of this on a machine of its own. */
const budgetMs = 3_000;

/**
 * Of the latest results and their statements. Each statement is checked to tell SQL from words, and again before it runs,
 * and programs send the same ones over and over. A result follows from the text and the number of its parameters alone,
 * unless the time did not suffice.
 */
const maxRememberedBytes = 4 * 1_048_576;

/** How long it is remembered that the time did not suffice: the machine may have been busy. */
const overdueMs = 60_000;

/** What is kept of a statement. */
interface Reading {
  readonly result: GuardResult;
  /** In milliseconds of `performance.now`. Optional: none where it always holds. */
  readonly until?: number;
  /** Absent until it is asked for, and then undefined where the statement has none. */
  fingerprint?: string | undefined;
}

/** Why a statement was not checked, and as the reply says it. */
const uncheckedReasons = {
  /** It took longer than its budget. */
  overdue: `the statement takes longer than ${budgetMs / 1_000} s to check; make it shorter or simpler`,
  /** The caller has gone, or the threads are closed. */
  left: "the check was stopped",
  /** The thread threw an error. */
  broken: "the check of the statement failed; try again, or make it shorter",
};

/**
 * Loads PostgreSQL's grammar, which takes some milliseconds.
 * @param options.durations of checks, with their waits; results that are remembered are not among them
 */
export async function createCheckScheduler(
  { durations = createHistogram() }: { readonly durations?: Histogram } = {},
) {
  const grammar = await compileGrammar();
  const guard = await createStatementGuard(grammar);
  const threads = createCheckThreads({ budgetMs, grammar });
  const remembered = createLatestByText<Reading>({ maxBytes: maxRememberedBytes });
  const queue = createQueue();
  // many short statements at once, such as a batch, take as long as a long one
  let spentMs = 0;

  function remember(sql: string, by: Asker, result: GuardResult, forMs?: number): GuardResult {
    const until = forMs === undefined ? {} : { until: performance.now() + forMs };
    remembered.set(keyOf(sql, by), { result, ...until }, bytesOf(result));
    return result;
  }

  // what is too long is refused at once; the rounds of recursive queries are followed, which may take long
  const isQuick = (sql: string) =>
    (sql.length <= maxInlineLength && !/recursive/i.test(sql)) || sql.length > maxStatementLength;

  function checkNow(sql: string, by: Asker, askedAt?: number): GuardResult {
    const startedAt = performance.now();
    const result = guard.check(sql, by);
    const endedAt = performance.now();
    if (spentMs === 0) setTimeout(() => spentMs = 0, 0);
    spentMs += endedAt - startedAt;
    durations.observe(endedAt - (askedAt ?? startedAt));
    return sql.length > maxStatementLength ? result : remember(sql, by, result);
  }

  function checkAfterOthers(sql: string, by: Asker): Promise<GuardResult> {
    const askedAt = performance.now();
    return queue.run(async () => {
      await yieldToEventLoop();
      return checkNow(sql, by, askedAt);
    });
  }

  async function checkOnThread(sql: string, by: Asker): Promise<GuardResult> {
    const askedAt = performance.now();
    const reply = await threads.run(
      { task: "check", sql, parameters: { length: by.parameters?.length ?? 0 } },
      waiterOf(by),
    );
    durations.observe(performance.now() - askedAt);
    if (reply.task === "check") return remember(sql, by, reply.result);
    const why = reply.task === "none" ? reply.why : "broken";
    const refused: GuardResult = { ok: false, reason: uncheckedReasons[why] };
    return why === "overdue" ? remember(sql, by, refused, overdueMs) : refused;
  }

  function checkAnew(sql: string, by: Asker): GuardResult | Promise<GuardResult> {
    if (!isQuick(sql)) return checkOnThread(sql, by);
    return spentMs < sliceMs ? checkNow(sql, by) : checkAfterOthers(sql, by);
  }

  async function checkTraced(sql: string, by: Asker, span: Span): Promise<GuardResult> {
    return await spanned(span, "guard", async (part) => {
      const result = await checkAnew(sql, by);
      // words are no statement: that is no error
      part?.set({ "postern.guard.result": result.ok ? "runs" : result.parses ? "refused" : "none" });
      return result;
    });
  }

  async function findFingerprint(sql: string, by: Asker): Promise<string | undefined> {
    if (isQuick(sql)) return guard.fingerprint(sql);
    const reply = await threads.run({ task: "fingerprint", sql }, waiterOf(by)).catch(() => undefined);
    return reply?.task === "fingerprint" ? reply.fingerprint : undefined;
  }

  return {
    /** @throws {AppError} `overloaded` where too many long statements of the caller wait for their check */
    check(sql: string, by: Asker): GuardResult | Promise<GuardResult> {
      const known = remembered.get(keyOf(sql, by));
      if (known !== undefined && (known.until === undefined || known.until > performance.now())) {
        return known.result;
      }
      return by.span === undefined ? checkAnew(sql, by) : checkTraced(sql, by, by.span);
    },
    /** As `StatementGuard.fingerprint`; also undefined where the time does not suffice. */
    async fingerprint(sql: string, by: Asker): Promise<string | undefined> {
      const known = remembered.get(sql);
      if (known !== undefined && "fingerprint" in known) return known.fingerprint;
      const found = await findFingerprint(sql, by);
      // where the time does not suffice, it may the next time
      if (known !== undefined && (found !== undefined || isQuick(sql))) known.fingerprint = found;
      return found;
    },
    [Symbol.dispose]: threads[Symbol.dispose],
  };
}

/**
 * The same, loaded when it is first asked or `loadAfterMs` from now: a server answers its first client sooner. Where that
 * fails, for example for want of file descriptors, the next check loads anew.
 */
export function createLateCheckScheduler(options: {
  readonly loadAfterMs?: number;
  readonly durations?: Histogram;
  /** `createCheckScheduler` where absent. */
  readonly create?: () => Promise<CheckScheduler & Disposable>;
}): CheckScheduler & AsyncDisposable {
  const { loadAfterMs = 300, create = () => createCheckScheduler(options) } = options;
  let loading: Promise<CheckScheduler & Disposable> | undefined;
  let loaded: CheckScheduler | undefined;
  async function load(): Promise<CheckScheduler> {
    clearTimeout(timer);
    loading ??= create().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loaded = await loading;
  }
  // the check that needs it reports what fails
  const timer = setTimeout(() => load().catch(() => {}), loadAfterMs);
  return {
    check: (sql, by) =>
      loaded === undefined ? load().then(({ check }) => check(sql, by)) : loaded.check(sql, by),
    fingerprint: async (sql, by) => await (loaded ?? await load()).fingerprint(sql, by),
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      (await loading?.catch(() => undefined))?.[Symbol.dispose]();
    },
  };
}

/** What a result is remembered by; no statement that is checked holds a NUL. */
function keyOf(sql: string, { parameters }: Asker): string {
  return parameters === undefined || parameters.length === 0 ? sql : `${sql}\0${parameters.length}`;
}

/** About as much as the engine needs for it. */
function bytesOf(result: GuardResult): number {
  if (!result.ok) return 2 * result.reason.length;
  return result.names.reduce(
    (sum, { schema = "", name }) => sum + 100 + 2 * (schema.length + name.length),
    0,
  );
}

// not by principal: without authentication all callers are one, and a user may have many sessions
const waiterOf = ({ principal, signal }: Asker): Waiter => ({ caller: callerKey(principal), signal });

/** Two, so that the second serves other callers while the first is busy with a long check. */
const maxThreads = 2;

/** Of one caller. */
const maxWaiting = 100;

/** Whom a check on a thread is for. */
interface Waiter {
  /** Equal for all that one caller asks. */
  readonly caller: string;
  /** Takes the check out of the queue; one that has begun goes on to its end. */
  readonly signal: AbortSignal;
}

type ThreadReply = CheckReply | { readonly task: "none"; readonly why: keyof typeof uncheckedReasons };

/**
 * Checks statements on threads, which start when they are first needed. One check of a caller runs at a time, and each
 * caller's next one comes after the other callers': whoever sends many waits for their own.
 *
 * @param options.budgetMs how long one check may take; then its thread is ended, and the next check gets a new one
 * @param options.grammar PostgreSQL's
 */
export function createCheckThreads(
  { budgetMs, grammar }: { readonly budgetMs: number; readonly grammar: WebAssembly.Module },
) {
  const gate = createGate({ places: maxThreads, placesPerCaller: 1, maxWaiting, maxWaitMs: Infinity });
  const idle: ReturnType<typeof startChecks>[] = [];
  const busy = new Set<ReturnType<typeof startChecks>>();
  const closing = new AbortController();

  async function runOnThread(request: CheckRequest): Promise<ThreadReply> {
    const thread = idle.pop() ?? startChecks(grammar);
    busy.add(thread);
    try {
      // to load the grammar is no part of a statement's budget
      await thread.started;
      const ask = (late: AbortSignal) => untilAborted(thread.ask(request), late);
      const reply = await withDeadline(budgetMs, undefined, ask);
      idle.push(thread);
      return reply;
    } catch (error) {
      thread.close();
      return notChecked(closing.signal.aborted ? "left" : isTimeout(error) ? "overdue" : "broken");
    } finally {
      busy.delete(thread);
    }
  }

  return {
    /** @throws {AppError} `overloaded` where too many checks of the caller wait already */
    async run(request: CheckRequest, { caller, signal }: Waiter): Promise<ThreadReply> {
      const left = AbortSignal.any([signal, closing.signal]);
      if (left.aborted) return notChecked("left");
      try {
        const leave = await gate.enter(caller, left);
        return await runOnThread(request).finally(leave);
      } catch (error) {
        if (left.aborted) return notChecked("left");
        throw error;
      }
    },
    [Symbol.dispose]() {
      closing.abort();
      for (const thread of [...idle, ...busy]) thread.close();
    },
  };
}

const notChecked = (why: keyof typeof uncheckedReasons): ThreadReply => ({ task: "none", why });

const startChecks = (grammar: WebAssembly.Module) =>
  startThread<CheckRequest, CheckReply>(import.meta.resolve("./check_worker.ts"), "none", grammar);
