export type Queue = ReturnType<typeof createQueue>;

/** Lets in a few at a time, in the order of asking. @param places how many may be in it at once */
export function createQueue(places = 1) {
  const waiting = new Set<() => void>();
  let taken = 0;

  function letIn(): void {
    const [admit] = waiting;
    if (taken === places || admit === undefined) return;
    waiting.delete(admit);
    taken++;
    admit();
  }

  function leave(): void {
    taken--;
    letIn();
  }

  /** Resolves with the function that leaves, to be called once; rejects with the signal's reason where it aborts first. */
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
    /** Does the work when its turn has come. @throws what the work throws, or the signal's reason where it aborts before */
    async run<T>(work: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
      const leave = await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    /** Nobody is in it or waits. */
    get isEmpty() {
      return taken === 0 && waiting.size === 0;
    },
  };
}
