/**
 * Upper bounds of the buckets, in seconds: from what a remembered answer takes to what an operator calls hanging. The same for
 * all durations, so that shares of a whole can be added up.
 */
export const durationBounds: readonly number[] = [
  0.0001,
  0.00025,
  0.0005,
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
  60,
];

/** How long something took, each time. */
export interface Histogram {
  /** Takes some nanoseconds and allocates nothing, so that it can stay on. @param ms of a clock that never goes back */
  observe(ms: number): void;
  read(): HistogramReading;
}

export interface HistogramReading {
  /** How often it took at most as long as each of `durationBounds`; the last counts all. */
  readonly cumulative: readonly number[];
  readonly sumSeconds: number;
}

/** Does `work` and observes how long that took, however it ended. */
export async function timed<T>(histogram: Histogram, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    histogram.observe(performance.now() - startedAt);
  }
}

const boundsMs = Float64Array.from(durationBounds, (seconds) => seconds * 1_000);

export function createHistogram(): Histogram {
  // a variable that holds a fraction would be allocated anew with each change
  const counts = new Float64Array(durationBounds.length + 1);
  const sumMs = new Float64Array(1);
  return {
    observe(ms) {
      let at = 0;
      while (ms > (boundsMs[at] ?? Infinity)) at++;
      counts[at] = (counts[at] ?? 0) + 1;
      sumMs[0] = (sumMs[0] ?? 0) + ms;
    },
    read() {
      let total = 0;
      return {
        cumulative: Array.from(counts, (count) => total += count),
        sumSeconds: (sumMs[0] ?? 0) / 1_000,
      };
    },
  };
}
