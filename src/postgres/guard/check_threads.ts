import type { CheckReply, CheckRequest, ReadyMessage } from "./check_worker.ts";

/** Whom a check is for. */
export interface CheckedFor {
  /** Equal for all that one caller asks. */
  readonly caller: string;
  /** Takes the check out of the queue; one that has begun goes on to its end. */
  readonly signal: AbortSignal;
}

/**
 * What became of a check: `overdue` where it took longer than its budget, `crowded` where too many of the same caller
 * wait already, `left` where the caller has gone or the threads are closed, `broken` where the thread failed.
 */
export type CheckOutcome = CheckReply | { readonly task: "none"; readonly why: CheckFailure };
export type CheckFailure = "overdue" | "crowded" | "left" | "broken";

/** Checks statements on threads of their own, which start when they are first needed. */
export interface CheckThreads extends Disposable {
  run(request: CheckRequest, by: CheckedFor): Promise<CheckOutcome>;
}

/**
 * One check of a caller runs at a time, and callers take turns: whoever sends many waits for their own. A second thread
 * serves the others while the first is busy.
 */
const maxThreads = 2;

/** Of one caller. */
const maxWaiting = 100;

interface Job {
  readonly request: CheckRequest;
  readonly caller: string;
  readonly settle: (outcome: CheckOutcome) => void;
}

/** @param budgetMs how long one check may take; then its thread is ended, and the next check gets a new one */
export function createCheckThreads({ budgetMs }: { readonly budgetMs: number }): CheckThreads {
  // in the order of their turns
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
    const outcome = await thread.run(request, budgetMs);
    busy.delete(thread);
    served.delete(caller);
    if (outcome.task === "none" || isClosed) thread.close();
    else idle.push(thread);
    settle(outcome);
    runNext();
  }

  return {
    async run(request, { caller, signal }) {
      if (signal.aborted || isClosed) return none("left");
      const jobs = waiting.get(caller) ?? [];
      if (jobs.length >= maxWaiting) return none("crowded");
      const { promise, resolve } = Promise.withResolvers<CheckOutcome>();
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

function none(why: CheckFailure): CheckOutcome {
  return { task: "none", why };
}

interface Thread {
  /** One at a time. */
  run(request: CheckRequest, budgetMs: number): Promise<CheckOutcome>;
  close(): void;
}

function startThread(): Thread {
  const worker = new Worker(import.meta.resolve("./check_worker.ts"), { type: "module" });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<CheckOutcome>();
  let reply: ((reply: CheckReply) => void) | undefined;
  port.onmessage = ({ data }: MessageEvent<CheckReply | ReadyMessage>) => {
    if (data === "ready") ready.resolve();
    else reply?.(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    ended.resolve(none("broken"));
  };
  worker.postMessage(undefined, [workerPort]);
  return {
    async run(request, budgetMs) {
      // to load the grammar is no part of a statement's budget
      await Promise.race([ready.promise, ended.promise]);
      const { promise, resolve } = Promise.withResolvers<CheckOutcome>();
      reply = resolve;
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
