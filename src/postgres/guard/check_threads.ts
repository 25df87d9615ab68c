import { createGate } from "../../core/admission.ts";
import type { CheckReply, CheckRequest, ReadyMessage } from "./check_worker.ts";

/** Two, so that the second serves other callers while the first is busy with a long check. */
const maxThreads = 2;

/** Of one caller. */
const maxWaiting = 100;

/** Why a statement was not checked. */
export type Unchecked =
  /** It took longer than its budget. */
  | "overdue"
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
  const idle: Thread[] = [];
  const busy = new Set<Thread>();
  const closing = new AbortController();

  async function runOnThread(request: CheckRequest): Promise<ThreadReply> {
    const thread = idle.pop() ?? startThread(grammar);
    busy.add(thread);
    const reply = await thread.run(request, budgetMs);
    busy.delete(thread);
    if (reply.task === "none" || closing.signal.aborted) thread.close();
    else idle.push(thread);
    return reply;
  }

  return {
    /** @throws {AppError} `overloaded` where too many checks of the caller wait already */
    async run(request: CheckRequest, { caller, signal }: Waiter): Promise<ThreadReply> {
      const left = AbortSignal.any([signal, closing.signal]);
      if (left.aborted) return none("left");
      try {
        const leave = await gate.enter(caller, left);
        return await runOnThread(request).finally(leave);
      } catch (error) {
        if (left.aborted) return none("left");
        throw error;
      }
    },
    [Symbol.dispose]() {
      closing.abort();
      for (const thread of [...idle, ...busy]) thread.close();
    },
  };
}

function none(why: Unchecked): ThreadReply {
  return { task: "none", why };
}

type Thread = ReturnType<typeof startThread>;

/** A thread that runs one request at a time. */
function startThread(grammar: WebAssembly.Module) {
  const worker = new Worker(import.meta.resolve("./check_worker.ts"), {
    type: "module",
    deno: { permissions: "none" },
  });
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
  worker.postMessage(grammar, [workerPort]);
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
