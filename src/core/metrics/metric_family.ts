/** A number that only grows. */
export interface Counter {
  /** @param by 0 or more; 1 where absent */
  add(by?: number): void;
}

/** A value with the values of its family's labels, in their order; an empty one counts as absent. */
export interface Sample<Value = number> {
  readonly labels: readonly string[];
  readonly value: Value;
}

interface Described {
  /** As Prometheus has it: with its unit, and `_total` for what only grows. */
  readonly name: string;
  /** One sentence, for people. */
  readonly help: string;
  readonly labels: readonly string[];
  /** Of several processes whose values are not to be added up, since each tells of all: which one counts. */
  readonly ofSeveral?: "largest";
}

/** All values of one name. */
export type MetricFamily =
  & Described
  & (
    | { readonly type: "counter" | "gauge"; read(): readonly Sample[] }
    | { readonly type: "histogram"; read(): readonly Sample<HistogramReading>[] }
  );

/** @param metric name and labels, as Prometheus writes them: `calls_total{tool, outcome}` */
export function createCounters(metric: string, help: string) {
  const { of, all } = createChildren(createCounter);
  const read = () => all((counter) => counter.read());
  const family: MetricFamily = { ...named(metric), help, type: "counter", read };
  return { of, family };
}

/** As createCounters(). */
export function createHistograms(metric: string, help: string) {
  const { of, all } = createChildren(createHistogram);
  const read = () => all((histogram) => histogram.read());
  const family: MetricFamily = { ...named(metric), help, type: "histogram", read };
  return { of, family };
}

/** As createCounters(), of values that their owners tell when they are asked. @param kind.type `counter` for what only grows all the same */
export function createGauges(
  metric: string,
  help: string,
  kind: Pick<Described, "ofSeveral"> & { readonly type?: "counter" | "gauge" } = {},
) {
  const owners = new Set<() => Iterable<Sample>>();
  const read = () => merged([...owners].flatMap((read) => [...read()]), (one, other) => one + other);
  return {
    /** Asks `read` for samples from now on, until what it returns is called. Samples with the same labels are added up. */
    collect(read: () => Iterable<Sample>): () => void {
      // the same function may be given twice
      const owner = () => read();
      owners.add(owner);
      return () => void owners.delete(owner);
    },
    family: { ...named(metric), help, type: "gauge", ...kind, read } as MetricFamily,
  };
}

function named(metric: string): Pick<Described, "name" | "labels"> {
  const [name = "", ...labels] = metric.match(/\w+/g) ?? [];
  return { name, labels };
}

function createCounter() {
  // a variable that holds a large number would be allocated anew with each change
  const value = new Float64Array(1);
  return {
    add(by = 1): void {
      value[0] = (value[0] ?? 0) + by;
    },
    read: () => value[0] ?? 0,
  };
}

/** Children of a family, each made when it is first asked for. Who counts asks once and keeps it: to ask costs a lookup. */
function createChildren<Child>(create: () => Child) {
  const children = new Map<string, { readonly labels: readonly string[]; readonly child: Child }>();
  return {
    of(...labels: readonly string[]): Child {
      const key = JSON.stringify(labels);
      const known = children.get(key) ?? { labels, child: create() };
      children.set(key, known);
      return known.child;
    },
    all: <Value>(read: (child: Child) => Value): Sample<Value>[] =>
      [...children.values()].map(({ labels, child }) => ({ labels, value: read(child) })),
  };
}

/** One sample in place of all that have the same labels. */
export function merged<Value>(
  samples: readonly Sample<Value>[],
  merge: (one: Value, other: Value) => Value,
): readonly Sample<Value>[] {
  const byLabels = new Map<string, Sample<Value>>();
  for (const sample of samples) {
    const key = JSON.stringify(sample.labels);
    const known = byLabels.get(key);
    byLabels.set(key, known ? { ...known, value: merge(known.value, sample.value) } : sample);
  }
  return [...byLabels.values()];
}

/**
 * Upper bounds of the buckets, in seconds: from what a remembered answer takes to what an operator calls hanging. The same for
 * all durations, so that shares of a whole can be added up.
 */
// deno-fmt-ignore
export const durationBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
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
