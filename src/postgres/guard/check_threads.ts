import { createGate } from "../../core/admission.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { isTimeout, withDeadline } from "../../core/async/deadline.ts";
import { startThread } from "../../core/async/thread.ts";
import type { CheckReply, CheckRequest } from "./check_worker.ts";

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
      return none(closing.signal.aborted ? "left" : isTimeout(error) ? "overdue" : "broken");
    } finally {
      busy.delete(thread);
    }
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

const startChecks = (grammar: WebAssembly.Module) =>
  startThread<CheckRequest, CheckReply>(import.meta.resolve("./check_worker.ts"), "none", grammar);
