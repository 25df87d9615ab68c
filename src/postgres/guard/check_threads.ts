import type { CheckReply, CheckRequest, ReadyMessage } from "./check_worker.ts";

/** Two, so that the second serves other callers while the first is busy with a long check. */
const maxThreads = 2;

/** Of one caller. */
const maxWaiting = 100;

/** Why a statement was not checked. */
export type Unchecked =
  /** It took longer than its budget. */
  | "overdue"
  /** Too many of the same caller wait already. */
  | "crowded"
  /** The caller has gone, or the threads are closed. */
  | "left"
  /** The thread threw an error. */
  | "broken";

/** Whom a check on a thread is for. */
export interface Waiter {
  /** Equal for all that one caller asks. */
  readonly caller: string;
  /** Takes the check out of the queue; one that has begun goes on to its end. */
  readonly signal: AbortSignal;
}

type ThreadReply = CheckReply | { readonly task: "none"; readonly why: Unchecked };

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

function none(why: Unchecked): ThreadReply {
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
