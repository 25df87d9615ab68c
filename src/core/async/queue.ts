/** Lets in so many at a time, in the order of asking. */
export interface Queue {
  /** Resolves with the function that leaves, to be called once; rejects with the signal's reason where it aborts first. */
  enter(signal?: AbortSignal): Promise<() => void>;
  /** Does the work when its turn has come. @throws what the work throws, or the signal's reason where it aborts before */
  run<T>(work: () => T | Promise<T>, signal?: AbortSignal): Promise<T>;
  /** How many wait, for who would rather not wait at all than long. */
  readonly waiting: number;
  /** Nobody is in it or waits. */
  readonly isEmpty: boolean;
}

/** @param options.atOnce how many are let in at a time; 1 */
export function createQueue({ atOnce = 1 }: { readonly atOnce?: number } = {}): Queue {
  const waiting = new Set<() => void>();
  let inside = 0;

  function letIn(): void {
    for (const admit of waiting) {
      if (inside === atOnce) return;
      waiting.delete(admit);
      inside++;
      admit();
    }
  }

  function leave(): void {
    inside--;
    letIn();
  }

  function enter(signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const withdraw = () => {
        waiting.delete(admit);
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener("abort", withdraw);
        resolve(leave);
      };
      signal?.addEventListener("abort", withdraw, { once: true });
      waiting.add(admit);
      letIn();
    });
  }

  return {
    enter,
    async run(work, signal) {
      const leave = await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    get waiting() {
      return waiting.size;
    },
    get isEmpty() {
      return inside === 0 && waiting.size === 0;
    },
  };
}
