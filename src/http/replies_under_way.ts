/** How many clients wait for a reply, for a stop on a runtime that waits for idle connections as for theirs. */
export interface RepliesUnderWay {
  /** `completed` settles when the whole reply was handed to the runtime. */
  add(completed: Promise<void>): void;
  /** Resolves once the last reply was complete `settleMs` ago, or there was none; never once `signal` is aborted. */
  settled(signal: AbortSignal): Promise<void>;
}

const pollMs = 50;

export function createRepliesUnderWay(
  { settleMs, now = () => performance.now() }: { readonly settleMs: number; readonly now?: () => number },
): RepliesUnderWay {
  let count = 0;
  let lastEnd = -Infinity;

  function end(): void {
    count--;
    lastEnd = now();
  }

  return {
    add(completed) {
      count++;
      completed.then(end, end);
    },
    settled(signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setInterval(() => {
        if (count === 0 && now() - lastEnd >= settleMs) resolve();
      }, pollMs);
      signal.addEventListener("abort", () => clearInterval(timer));
      return promise;
    },
  };
}
