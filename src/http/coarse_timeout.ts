/** Bounds how long many short waits may take, with one timer for all of them: a timer each would cost more than most waits. */
export interface CoarseTimeout {
  /** What `work` resolves with, or `late` where it takes longer than the bound, by up to a second. */
  race<T, L>(work: Promise<T>, late: L): Promise<T | L>;
  close(): void;
}

const tickMs = 1_000;

export function createCoarseTimeout(options: { timeoutMs: number; now?: () => number }): CoarseTimeout {
  const { timeoutMs, now = () => performance.now() } = options;
  // in the order of their ends
  const waits = new Set<{ readonly endsAt: number; readonly expire: () => void }>();

  const timer = setInterval(() => {
    const time = now();
    for (const wait of waits) {
      if (wait.endsAt > time) return;
      waits.delete(wait);
      wait.expire();
    }
  }, tickMs);
  Deno.unrefTimer(timer);

  return {
    race<T, L>(work: Promise<T>, late: L): Promise<T | L> {
      return new Promise((resolve, reject) => {
        const wait = { endsAt: now() + timeoutMs, expire: () => resolve(late) };
        waits.add(wait);
        work.finally(() => waits.delete(wait)).then(resolve, reject);
      });
    },
    close: () => clearInterval(timer),
  };
}
