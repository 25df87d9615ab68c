import TinyQueue from "tinyqueue";
import { AppError } from "./app_error.ts";
import { onAbort } from "./async/abort.ts";
import { longestTimerMs } from "./async/deadline.ts";

/** What bounds waiting. */
export interface WaitBounds {
  /** How many calls of one caller may wait in a queue. */
  readonly maxWaiting: number;
  /** In milliseconds. A call that would wait longer is refused at once; Infinity or more than 25 days: no bound. */
  readonly maxWaitMs: number;
}

/** A call that waits, and its caller. */
export interface WaitingCall {
  readonly caller: string;
  /** Told when it has waited too long, after it has left its queue. */
  reject(reason: unknown): void;
}

/** What came of trying a call. */
export type Attempt =
  /** It runs, or was refused. */
  | "left"
  /** It leaves its queue, and waits for a connection that opens for it, until it is removed or put back. */
  | "opens"
  /** It waits for what is on its way to it. */
  | "owed"
  /** It waits, as all of its caller do in this queue. */
  | "waits"
  /** It waits, as all in this queue do. */
  | "full"
  /** It waits, as everyone does. */
  | "all_full";

export interface CallQueue<T extends WaitingCall> {
  readonly waiting: ReadonlyMap<string, ReadonlySet<T>>;
  add(call: T): void;
  /** Takes back a call for which no connection could be opened, if it still waits: it is the next of its caller. */
  putBack(call: T): void;
  /** @returns whether it waited */
  remove(call: T): boolean;
  /** Whether it waits in the queue. */
  has(call: T): boolean;
  /**
   * Why the call that was added last is not to wait: `overloaded`, with `retryAfterSeconds`; undefined where it may, or
   * does not wait any more.
   *
   * @param forAll whether it waits for what all queues share, and not for a place of its own queue
   */
  refusal(call: T, forAll?: boolean): AppError | undefined;
  /** How many calls of a caller run, in all queues. */
  underWay(caller: string): number;
  /** A call begins to run. @returns when, for `ended` */
  began(caller: string): number;
  ended(caller: string, began: number): void;
}

export const noWaitBounds: WaitBounds = { maxWaiting: Infinity, maxWaitMs: Infinity };

interface AdmissionOptions extends WaitBounds {
  /** Calls that run at once, those of all queues together. */
  readonly places: number;
  /** In milliseconds since any moment. */
  readonly now?: () => number;
}

/**
 * Whether and when a call may run. Calls wait in queues, one for each thing that has few places. The next is a call of the
 * caller with the fewest under way. Between callers with equally many it goes round: a call is in the round after its
 * caller's call before, and a newcomer's in the next one. So whoever sends all they can leaves the others their share. A
 * caller is a `callerKey`. Nothing is kept of one that has no call.
 */
export function createAdmission<T extends WaitingCall>(
  { maxWaiting, maxWaitMs, places: placesOfAll, now = () => performance.now() }: AdmissionOptions,
) {
  // in the order of their coming, those for which a connection opens too
  const calls = new Map<T, Joined<T>>();
  const queues = new Set<CallQueue<T>>();
  // those with a call that waits or is under way
  const callers = new Map<string, Caller>();
  const timesOfAll = createTimes(now());
  let lastOrder = 0;
  /** Of the latest call that was let in. */
  let round = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const underWayOf = (caller: string) => callers.get(caller)?.underWay ?? 0;

  function change(name: string, waiting: number, underWay: number): Caller {
    const caller = callers.get(name) ?? { waiting: 0, underWay: 0, lastRound: 0, rank: 0 };
    caller.waiting += waiting;
    caller.underWay += underWay;
    if (caller.waiting + caller.underWay > 0) callers.set(name, caller);
    else callers.delete(name);
    return caller;
  }

  function createQueue(places: number): CallQueue<T> {
    const waiting = new Map<string, Set<T>>();
    const times = createTimes(now());

    function join(call: T, ofCaller: Set<T>, ofRound: number): void {
      waiting.set(call.caller, ofCaller);
      queues.add(queue);
      calls.set(call, { queue, round: ofRound, order: ++lastOrder, since: calls.get(call)?.since ?? now() });
      watch();
    }

    const queue: OwnQueue<T> = {
      waiting,
      add(call) {
        const caller = change(call.caller, 1, 0);
        caller.lastRound = Math.max(round, caller.lastRound) + 1;
        join(call, (waiting.get(call.caller) ?? new Set()).add(call), caller.lastRound);
      },
      putBack(call) {
        if (!calls.has(call)) return;
        change(call.caller, 1, 0);
        join(call, new Set([call, ...waiting.get(call.caller) ?? []]), round);
      },
      remove(call) {
        leave(call, queue);
        return calls.delete(call);
      },
      has: (call) => waiting.get(call.caller)?.has(call) ?? false,
      refusal(call, forAll = false) {
        const { caller } = call;
        if (!queue.has(call)) return undefined;
        const own = waiting.get(caller)?.size ?? 0;
        const expectedMs = forAll
          ? (1 + countBefore(caller, queues)) * timesOfAll.meanMs(now()) / placesOfAll
          : (1 + countBefore(caller, [queue])) * times.meanMs(now()) / places;
        if (own > maxWaiting) {
          return overloaded(`${maxWaiting} calls of this caller wait already`, expectedMs);
        }
        if (expectedMs <= maxWaitMs) return undefined;
        return overloaded(`it would wait about ${secondsOf(expectedMs)} s for others to end`, expectedMs);
      },
      underWay: underWayOf,
      began(caller) {
        change(caller, 0, 1);
        const time = now();
        timesOfAll.began(time);
        times.began(time);
        return time;
      },
      ended(caller, began) {
        change(caller, 0, -1);
        const time = now();
        timesOfAll.ended(began, time);
        times.ended(began, time);
      },
    };
    return queue;
  }

  /** Takes it out of its queue. It stays in `calls` while a connection opens for it. */
  function leave(call: T, queue: OwnQueue<T>): void {
    const { waiting } = queue;
    const ofCaller = waiting.get(call.caller);
    if (!ofCaller?.delete(call)) return;
    change(call.caller, -1, 0);
    if (ofCaller.size === 0) waiting.delete(call.caller);
    if (waiting.size === 0) queues.delete(queue);
  }

  /** How many calls the fair order has before the one of the caller that was added last. */
  function countBefore(caller: string, among: Iterable<CallQueue<T>>): number {
    let own = 0;
    for (const { waiting } of among) own += waiting.get(caller)?.size ?? 0;
    const rank = underWayOf(caller) + own - 1;
    let before = own - 1;
    for (const { waiting } of among) {
      for (const [other, { size }] of waiting) {
        if (other !== caller) before += Math.min(size, Math.max(0, rank - underWayOf(other) + 1));
      }
    }
    return before;
  }

  function letIn(among: Iterable<CallQueue<T>>, attempt: (call: T) => Attempt): void {
    const open = new Set(among);
    const heads: Head<T>[] = [];
    for (const queue of open) {
      for (const [name, ofCaller] of queue.waiting) {
        const rest = ofCaller.values();
        const { value: call } = rest.next();
        const joined = call && calls.get(call);
        const caller = callers.get(name);
        if (call === undefined || joined === undefined || caller === undefined) continue;
        caller.rank = caller.underWay;
        heads.push({ queue, caller, rank: caller.rank, rest, call, joined });
      }
    }
    // a heap: a round in which nobody may run is not to take the square of the callers
    const inOrder = new TinyQueue(heads, compareHeads);
    for (let first = inOrder.pop(); first !== undefined && open.size > 0; first = inOrder.pop()) {
      const { queue, caller, rest, call, joined } = first;
      if (!open.has(queue)) continue;
      if (first.rank < caller.rank) {
        first.rank = caller.rank;
        inOrder.push(first);
        continue;
      }
      const result = attempt(call);
      if (result === "all_full") return;
      if (result === "full") open.delete(queue);
      const hasLeft = result === "left" || result === "opens";
      if (hasLeft) {
        round = Math.max(round, joined.round);
        leave(call, joined.queue);
      }
      if (result === "left") calls.delete(call);
      // a caller's next call comes after one of every other's
      caller.rank++;
      const next = hasLeft || result === "owed" ? rest.next().value : undefined;
      const nextJoined = next && calls.get(next);
      if (next === undefined || nextJoined === undefined) continue;
      first.call = next;
      first.joined = nextJoined;
      first.rank = caller.rank;
      inOrder.push(first);
    }
  }

  /** One timer for all that wait: who came first has waited longest. */
  function watch(): void {
    if (timer !== undefined || maxWaitMs > longestTimerMs) return;
    const [first] = calls.values();
    if (first === undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      for (const [call, { queue, since }] of calls) {
        if (now() - since < maxWaitMs) break;
        const awaited = queue.has(call) ? "others to end" : "a connection to open";
        queue.remove(call);
        call.reject(overloaded(`it has waited ${secondsOf(maxWaitMs)} s for ${awaited}`, maxWaitMs));
      }
      watch();
    }, Math.max(0, first.since + maxWaitMs - now()));
    // it alone does not keep the process alive
    Deno.unrefTimer(timer);
  }

  return {
    /** Nobody waits. */
    get isEmpty() {
      return queues.size === 0;
    },
    /** For `places` calls at once. */
    createQueue,
    /** Tries the calls of some queues in the fair order, until the attempts say that there is no use. */
    letIn,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

interface OwnQueue<T extends WaitingCall> extends CallQueue<T> {
  readonly waiting: Map<string, Set<T>>;
}

interface Joined<T extends WaitingCall> {
  readonly queue: OwnQueue<T>;
  readonly round: number;
  /** Within the round. */
  readonly order: number;
  /** When it came first. */
  readonly since: number;
}

interface Caller {
  waiting: number;
  underWay: number;
  /** Of its call that came last. */
  lastRound: number;
  /** How many of its calls are under way or go before its next one, while calls are let in. */
  rank: number;
}

/** The first call of a caller in a queue. */
interface Head<T extends WaitingCall> {
  readonly queue: CallQueue<T>;
  readonly caller: Caller;
  /** The caller's, when it took its place among the heads; theirs only grow. */
  rank: number;
  call: T;
  joined: Joined<T>;
  /** Those of the same caller after it. */
  readonly rest: Iterator<T, undefined>;
}

function compareHeads(
  { rank, joined }: Head<WaitingCall>,
  { rank: otherRank, joined: other }: Head<WaitingCall>,
): number {
  return rank - otherRank || joined.round - other.round || joined.order - other.order;
}

/** What ended so long ago counts for a third of what ended just now. */
const fadeMs = 10_000;

/** What has ended is let fade so often, and not for each call. */
const fadeEveryMs = 100;

/**
 * How long calls have taken lately; those under way count, so that something that hangs shows before a call of it ends.
 * Times are by one clock, in milliseconds.
 */
function createTimes(createdAt: number) {
  let underWay = 0;
  let sumOfStarts = 0;
  let ended = 0;
  let endedMs = 0;
  let fadedAt = createdAt;

  function fade(time: number): void {
    if (time - fadedAt < fadeEveryMs) return;
    const left = Math.exp((fadedAt - time) / fadeMs);
    ended *= left;
    endedMs *= left;
    fadedAt = time;
  }

  return {
    began(time: number): void {
      underWay++;
      sumOfStarts += time;
    },
    ended(began: number, time: number): void {
      fade(time);
      underWay--;
      // what rounding leaves is not to add up
      sumOfStarts = underWay === 0 ? 0 : sumOfStarts - began;
      ended++;
      endedMs += time - began;
    },
    meanMs(time: number): number {
      fade(time);
      return (endedMs + underWay * time - sumOfStarts) / Math.max(1, ended);
    },
  };
}

const longestRetrySeconds = 3_600;

function overloaded(why: string, expectedMs: number): AppError {
  const retryAfterSeconds = Math.min(longestRetrySeconds, secondsOf(expectedMs));
  return new AppError("overloaded", `Cannot run the call: ${why}; try again in ${retryAfterSeconds} s`, {
    data: { retryAfterSeconds },
  });
}

const secondsOf = (ms: number) => Math.max(1, Math.ceil(ms / 1_000));

interface GateOptions extends AdmissionOptions {
  /** Of one caller. Optional; the default is `places`. */
  readonly placesPerCaller?: number | ((caller: string) => number);
  /** Of all, where that changes while `places` bounds no wait. Optional; the default is `places`. */
  readonly placesNow?: () => number;
}

/** Lets in so many calls at once, which need nothing else. */
export type Gate = ReturnType<typeof createGate>;

export function createGate(options: GateOptions) {
  const { places, placesPerCaller = places, placesNow = () => places } = options;
  const placesOf = typeof placesPerCaller === "number" ? () => placesPerCaller : placesPerCaller;
  const admission = createAdmission<WaitingCall & { admit(): void }>(options);
  const queue = admission.createQueue(places);
  let underWay = 0;

  function begin(caller: string): () => void {
    underWay++;
    const began = queue.began(caller);
    return () => {
      underWay--;
      queue.ended(caller, began);
      letIn();
    };
  }

  function letIn(): void {
    if (!admission.isEmpty) admission.letIn([queue], attempt);
  }

  function attempt(call: WaitingCall & { admit(): void }): Attempt {
    if (underWay >= placesNow()) return "full";
    if (queue.underWay(call.caller) >= placesOf(call.caller)) return "waits";
    call.admit();
    return "left";
  }

  return {
    /**
     * Resolves with what ends the call, to be called once.
     *
     * @throws {AppError} `overloaded`, with `retryAfterSeconds`; the signal's reason where it aborts while the call waits
     */
    async enter(caller: string, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      if (underWay < placesNow() && queue.underWay(caller) < placesOf(caller)) return begin(caller);
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const call = { caller, reject, admit: () => resolve(begin(caller)) };
      const leave = (reason: unknown) => {
        if (queue.remove(call)) reject(reason);
      };
      queue.add(call);
      const refusal = queue.refusal(call);
      if (refusal !== undefined) leave(refusal);
      using _aborting = onAbort(signal, () => leave(signal.reason));
      return await promise;
    },
    /** Lets in whoever has a place now that there are more of them. */
    letIn,
    /** How many calls of a caller have a place. */
    underWay: queue.underWay,
    /** How many calls of a caller wait. */
    waiting: (caller: string): number => queue.waiting.get(caller)?.size ?? 0,
    /** Whether a caller has no call, not even one that waits. */
    isIdle: (caller: string): boolean => queue.underWay(caller) === 0 && !queue.waiting.has(caller),
    [Symbol.dispose]: admission[Symbol.dispose],
  };
}
