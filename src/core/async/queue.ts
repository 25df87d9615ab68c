/** Lets in so many at a time, in the order of asking; who has no use for a long queue looks at `waiting` first. */
export interface Queue {
  /** Resolves with the function that leaves, to be called once; rejects with the signal's reason where it aborts first. */
  enter(signal?: AbortSignal): Promise<() => void>;
  /** Does the work when its turn has come. @throws what the work throws, or the signal's reason where it aborts before */
  run<T>(work: () => T | Promise<T>, signal?: AbortSignal): Promise<T>;
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

/** A queue for each key, which is forgotten once it is empty. */
export interface KeyedQueue<K> {
  /** As a queue's. */
  run<T>(key: K, work: () => T | Promise<T>): Promise<T>;
}

export function createKeyedQueue<K>(): KeyedQueue<K> {
  const queues = new Map<K, Queue>();
  return {
    async run(key, work) {
      const queue = queues.get(key) ?? createQueue();
      queues.set(key, queue);
      try {
        return await queue.run(work);
      } finally {
        if (queue.isEmpty) queues.delete(key);
      }
    },
  };
}
