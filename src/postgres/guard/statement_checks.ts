import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { callerKey, type Principal } from "../../core/principal.ts";
import type { CheckReply, CheckRequest, ReadyMessage } from "./check_worker.ts";
import { maxStatementLength } from "./parser.ts";
import { createStatementGuard, type GuardResult } from "./statement_guard.ts";

/** Whom a check is for, and until when: one that has begun goes on to its end. */
interface Asker {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/**
 * The statement guard for a server with many callers: what takes longer than a few milliseconds is done on threads of
 * its own, where one caller's statements do not hold up another's.
 */
export interface StatementChecks {
  check(sql: string, by: Asker): GuardResult | Promise<GuardResult>;
  /** As `StatementGuard.fingerprint`; undefined too where there is no time for it. */
  fingerprint(sql: string, by: Asker): Promise<string | undefined>;
}

/**
 * In UTF-16 units. The worst known statement of this length takes 5 ms, most take less than one; a thread costs half of
 * one more.
 */
const maxInlineLength = 1_000;

/** How long statements are checked until other work of the process may go on. */
const sliceMs = 4;

/** The worst known statement that is short enough to be parsed takes a quarter of this on a machine of its own. */
const budgetMs = 3_000;

/** Of the latest statements: each is checked where it is told from words, and again where it runs. */
const maxRemembered = 32;

/** Two, so that the second serves other callers while the first is busy with a long check. */
const maxThreads = 2;

/** Of one caller. */
const maxWaiting = 100;

/** Why a statement was not checked, as the caller is told. */
const uncheckedReasons = {
  /** It took longer than its budget. */
  overdue: `the statement takes longer than ${budgetMs / 1_000} s to check; make it shorter or simpler`,
  /** Too many of the same caller wait already. */
  crowded: "too many of your long statements are waiting for their check; send the next one after a reply",
  /** The caller has gone, or the threads are closed. */
  left: "the check was stopped",
  /** The thread threw an error. */
  broken: "the check of the statement failed; try again, or make it shorter",
};

/** Loads PostgreSQL's grammar, which takes some milliseconds. */
export async function createStatementChecks(): Promise<StatementChecks & Disposable> {
  const guard = await createStatementGuard();
  const threads = createCheckThreads({ budgetMs });
  const remembered = new Map<string, GuardResult>();
  const queue = createQueue();
  // many short statements at once, as of a batch, are as long as a long one
  let spentMs = 0;

  function remember(sql: string, result: GuardResult): GuardResult {
    remembered.set(sql, result);
    const [oldest] = remembered.keys();
    if (remembered.size > maxRemembered && oldest !== undefined) remembered.delete(oldest);
    return result;
  }

  // what is too long is refused at once; the rounds of recursive queries are followed, which may take long
  const isQuick = (sql: string) =>
    (sql.length <= maxInlineLength && !/recursive/i.test(sql)) || sql.length > maxStatementLength;

  function checkAtOnce(sql: string): GuardResult {
    const startedAt = performance.now();
    const result = guard.check(sql);
    if (spentMs === 0) setTimeout(() => spentMs = 0, 0);
    spentMs += performance.now() - startedAt;
    return sql.length > maxStatementLength ? result : remember(sql, result);
  }

  function checkAfterOthers(sql: string): Promise<GuardResult> {
    return queue.run(async () => {
      await yieldToEventLoop();
      return checkAtOnce(sql);
    });
  }

  async function checkOnThread(sql: string, by: Asker): Promise<GuardResult> {
    const reply = await threads.run({ task: "check", sql }, waiterOf(by));
    if (reply.task === "check") return remember(sql, reply.result);
    const why = reply.task === "none" ? reply.why : "broken";
    const refused: GuardResult = { ok: false, reason: uncheckedReasons[why] };
    return why === "overdue" ? remember(sql, refused) : refused;
  }

  return {
    check(sql, by) {
      const known = remembered.get(sql);
      if (known !== undefined) return known;
      if (!isQuick(sql)) return checkOnThread(sql, by);
      return spentMs < sliceMs ? checkAtOnce(sql) : checkAfterOthers(sql);
    },
    async fingerprint(sql, by) {
      if (isQuick(sql)) return guard.fingerprint(sql);
      const reply = await threads.run({ task: "fingerprint", sql }, waiterOf(by));
      return reply.task === "fingerprint" ? reply.fingerprint : undefined;
    },
    [Symbol.dispose]: threads[Symbol.dispose],
  };
}

// not by principal: without authentication all callers are one, and a user may have many sessions
const waiterOf = ({ principal, signal }: Asker): Waiter => ({ caller: callerKey(principal), signal });

/** Whom a check on a thread is for. */
interface Waiter {
  /** Equal for all that one caller asks. */
  readonly caller: string;
  /** Takes the check out of the queue; one that has begun goes on to its end. */
  readonly signal: AbortSignal;
}

type ThreadReply = CheckReply | { readonly task: "none"; readonly why: keyof typeof uncheckedReasons };

interface Job {
  readonly request: CheckRequest;
  readonly caller: string;
  readonly settle: (reply: ThreadReply) => void;
}

/**
 * Checks statements on threads, which start when they are first needed. One check of a caller runs at a time, and each
 * caller's next one comes after the other callers': whoever sends many waits for their own.
 *
 * @param options.budgetMs how long one check may take; then its thread is ended, and the next check gets a new one
 */
export function createCheckThreads({ budgetMs }: { readonly budgetMs: number }) {
  // by caller, the next to be served first
  const waiting = new Map<string, Job[]>();
  const served = new Set<string>();
  const idle: Thread[] = [];
  const busy = new Set<Thread>();
  let isClosed = false;

  function nextJob(): Job | undefined {
    for (const [caller, jobs] of waiting) {
      if (served.has(caller)) continue;
      waiting.delete(caller);
      const job = jobs.shift();
      if (jobs.length > 0) waiting.set(caller, jobs);
      return job;
    }
    return undefined;
  }

  function runNext(): void {
    while (busy.size < maxThreads && !isClosed) {
      const job = nextJob();
      if (job === undefined) return;
      void run(job);
    }
  }

  async function run({ request, caller, settle }: Job): Promise<void> {
    const thread = idle.pop() ?? startThread();
    busy.add(thread);
    served.add(caller);
    const reply = await thread.run(request, budgetMs);
    busy.delete(thread);
    served.delete(caller);
    if (reply.task === "none" || isClosed) thread.close();
    else idle.push(thread);
    settle(reply);
    runNext();
  }

  return {
    async run(request: CheckRequest, { caller, signal }: Waiter): Promise<ThreadReply> {
      if (signal.aborted || isClosed) return none("left");
      const jobs = waiting.get(caller) ?? [];
      if (jobs.length >= maxWaiting) return none("crowded");
      const { promise, resolve } = Promise.withResolvers<ThreadReply>();
      const job: Job = { request, caller, settle: resolve };
      waiting.set(caller, [...jobs, job]);
      const leave = () => {
        const others = waiting.get(caller)?.filter((each) => each !== job) ?? [];
        if (others.length > 0) waiting.set(caller, others);
        else waiting.delete(caller);
        resolve(none("left"));
      };
      signal.addEventListener("abort", leave, { once: true });
      runNext();
      return await promise.finally(() => signal.removeEventListener("abort", leave));
    },
    [Symbol.dispose]() {
      isClosed = true;
      for (const jobs of waiting.values()) jobs.forEach(({ settle }) => settle(none("left")));
      waiting.clear();
      for (const thread of [...idle, ...busy]) thread.close();
    },
  };
}

function none(why: keyof typeof uncheckedReasons): ThreadReply {
  return { task: "none", why };
}

type Thread = ReturnType<typeof startThread>;

/** A thread that runs one request at a time. */
function startThread() {
  const worker = new Worker(import.meta.resolve("./check_worker.ts"), { type: "module" });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<ThreadReply>();
  let answer: ((reply: CheckReply) => void) | undefined;
  port.onmessage = ({ data }: MessageEvent<CheckReply | ReadyMessage>) => {
    if (data === "ready") ready.resolve();
    else answer?.(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    ended.resolve(none("broken"));
  };
  worker.postMessage(undefined, [workerPort]);
  return {
    async run(request: CheckRequest, budgetMs: number): Promise<ThreadReply> {
      // to load the grammar is no part of a statement's budget
      await Promise.race([ready.promise, ended.promise]);
      const { promise, resolve } = Promise.withResolvers<ThreadReply>();
      answer = resolve;
      port.postMessage(request);
      const timer = setTimeout(() => resolve(none("overdue")), budgetMs);
      return await Promise.race([promise, ended.promise]).finally(() => clearTimeout(timer));
    },
    close() {
      ended.resolve(none("left"));
      port.close();
      worker.terminate();
    },
  };
}
