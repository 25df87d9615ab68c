import { AppError } from "../../core/app_error.ts";
import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import type { PasswordReply, PasswordRequest } from "./password_worker.ts";

/** What became of a password that was to be compared. */
export type Comparison = "match" | "mismatch" | "not_admitted";

export interface ComparisonRequest extends PasswordRequest {
  /** Asked when the comparison's turn comes; where it says no, nothing is compared. */
  readonly admit: () => boolean;
  /** Takes the comparison out of the queue; one that has begun goes on. */
  readonly signal: AbortSignal;
}

/** Compares passwords on threads of their own, one after the other on each. */
export interface PasswordHasher {
  /**
   * @throws AppError `unavailable` with `retryAfterSeconds` where too many wait already, or after close(); the
   * signal's reason where it aborts while the comparison waits
   */
  compare(request: ComparisonRequest): Promise<Comparison>;
  close(): void;
  [Symbol.dispose](): void;
}

export interface PasswordHasherOptions {
  /** Threads; each is started when it is first needed. */
  readonly workers?: number;
  /** Comparisons that may wait besides those that run. */
  readonly maxWaiting?: number;
}

interface Thread {
  /** @throws AppError `internal` where the thread fails */
  compare(request: PasswordRequest): Promise<PasswordReply>;
  close(): void;
}

export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const { workers = Math.max(1, navigator.hardwareConcurrency - 1), maxWaiting = 100 } = options;
  const queue = createQueue({ atOnce: workers });
  const closing = new AbortController();
  const idle: Thread[] = [];
  const busy = new Set<Thread>();
  const pace = createPace();

  async function compareOnThread({ password, hash, totalCost }: PasswordRequest): Promise<Comparison> {
    const thread = idle.pop() ?? startThread();
    busy.add(thread);
    try {
      const matches = await pace.measure(() => thread.compare({ password, hash, totalCost }));
      idle.push(thread);
      return matches ? "match" : "mismatch";
    } catch (error) {
      thread.close();
      throw error;
    } finally {
      busy.delete(thread);
    }
  }

  function close(): void {
    closing.abort(stopping());
    for (const thread of [...idle, ...busy]) thread.close();
  }

  return {
    async compare(request) {
      request.signal.throwIfAborted();
      closing.signal.throwIfAborted();
      if (queue.waiting >= maxWaiting) throw tooMany(pace.secondsFor(queue.waiting / workers));
      const leave = await queue.enter(AbortSignal.any([request.signal, closing.signal]));
      if (!request.admit()) {
        leave();
        return "not_admitted";
      }
      try {
        return await compareOnThread(request);
      } finally {
        // whoever waits for this outcome counts it before the next one is admitted
        if (queue.waiting > 0) void yieldToEventLoop().then(leave);
        else leave();
      }
    },
    close,
    [Symbol.dispose]: close,
  };
}

function startThread(): Thread {
  const worker = new Worker(import.meta.resolve("./password_worker.ts"), { type: "module" });
  const { port1: port, port2: workerPort } = new MessageChannel();
  let pending: PromiseWithResolvers<PasswordReply> | undefined;
  const close = () => {
    port.close();
    worker.terminate();
    pending?.reject(stopping());
  };
  port.onmessage = ({ data }: MessageEvent<PasswordReply>) => pending?.resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    pending?.reject(
      new AppError("internal", "Cannot check a password: its worker failed", { cause: event.message }),
    );
  };
  worker.postMessage(undefined, [workerPort]);
  return {
    compare(request) {
      pending = Promise.withResolvers();
      port.postMessage(request);
      return pending.promise;
    },
    close,
  };
}

/** How long comparisons have taken lately, to tell those turned away when to come back. */
function createPace() {
  let averageMs = 300;
  return {
    async measure<T>(work: () => Promise<T>): Promise<T> {
      const start = performance.now();
      const result = await work();
      averageMs += (performance.now() - start - averageMs) / 8;
      return result;
    },
    /** Whole seconds, at least one, that some comparisons one after the other take. */
    secondsFor: (comparisons: number) => Math.max(1, Math.ceil(comparisons * averageMs / 1000)),
  };
}

function tooMany(retryAfterSeconds: number): AppError {
  return new AppError("unavailable", "Cannot log in: too many logins are waiting", {
    data: { retryAfterSeconds },
  });
}

function stopping(): AppError {
  return new AppError("unavailable", "Cannot log in: the server is stopping", {
    data: { retryAfterSeconds: 1 },
  });
}
