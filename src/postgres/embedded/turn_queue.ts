/** Lets one holder in at a time, in the order of asking. */
export interface TurnQueue {
  /** Resolves with the function that ends the turn; rejects with the signal's reason where it aborts first. */
  take(signal: AbortSignal): Promise<() => void>;
  /** How many wait. */
  readonly waiting: number;
}

export function createTurnQueue(): TurnQueue {
  const queue = new Set<() => void>();
  let taken = false;

  function next(): void {
    const [first] = queue;
    taken = first !== undefined;
    if (first === undefined) return;
    queue.delete(first);
    first();
  }

  return {
    get waiting() {
      return queue.size;
    },
    take(signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const withdraw = () => {
          queue.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener("abort", withdraw);
          resolve(next);
        };
        signal.addEventListener("abort", withdraw, { once: true });
        queue.add(enter);
        if (!taken) next();
      });
    },
  };
}
