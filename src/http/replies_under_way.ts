/** How many clients wait for a reply, for a stop: the runtime waits for silent connections as for theirs. */
export interface RepliesUnderWay {
  begin(): void;
  /** The whole reply was handed to the runtime, or its client has gone. */
  end(): void;
  /** Resolves once the last reply was complete `settleMs` ago, or there was none; never once `signal` is aborted. */
  settled(signal: AbortSignal): Promise<void>;
}

const pollMs = 50;

export function createRepliesUnderWay(
  { settleMs, now = () => performance.now() }: { readonly settleMs: number; readonly now?: () => number },
): RepliesUnderWay {
  let count = 0;
  let lastEnd = -Infinity;

  return {
    begin: () => void count++,
    end() {
      count--;
      lastEnd = now();
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
