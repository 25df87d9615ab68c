import { createHistogram, type HistogramReading } from "./histogram.ts";

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

/** @param name, help and labels as `MetricFamily` has them */
export function createCounters(name: string, help: string, labels: readonly string[] = []) {
  const { of, all } = createChildren(createCounter);
  const read = () => all((counter) => counter.read());
  const family: MetricFamily = { name, help, labels, type: "counter", read };
  return { of, family };
}

/** As createCounters(). */
export function createHistograms(name: string, help: string, labels: readonly string[] = []) {
  const { of, all } = createChildren(createHistogram);
  const read = () => all((histogram) => histogram.read());
  const family: MetricFamily = { name, help, labels, type: "histogram", read };
  return { of, family };
}

/** As createCounters(), of values that their owners tell when they are asked. @param kind.type `counter` for what only grows all the same */
export function createGauges(
  name: string,
  help: string,
  labels: readonly string[] = [],
  kind: Pick<Described, "ofSeveral"> & { readonly type?: "counter" | "gauge" } = {},
) {
  const owners = new Set<() => Iterable<Sample>>();
  const read = () => added([...owners].flatMap((read) => [...read()]));
  return {
    /** Asks `read` for samples from now on, until what it returns is called. Samples with the same labels are added up. */
    collect(read: () => Iterable<Sample>): () => void {
      // the same function may be given twice
      const owner = () => read();
      owners.add(owner);
      return () => void owners.delete(owner);
    },
    family: { name, help, labels, type: "gauge", ...kind, read } as MetricFamily,
  };
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

const added = (samples: readonly Sample[]) => merged(samples, (one, other) => one + other);

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
