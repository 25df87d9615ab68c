import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { HistogramReading } from "../../core/metrics/histogram.ts";
import { merged, type MetricFamily, type Sample } from "../../core/metrics/metric_family.ts";

type Value = number | HistogramReading;

/** What one process has counted: the samples of each family, by its name. */
export type Readings = readonly (readonly [name: string, samples: readonly Sample<Value>[]])[];

/** The metrics of several processes as if they were one's. */
export interface GatheredMetrics {
  readonly families: readonly MetricFamily[];
  /** Asks all processes; the families hold what they say from then on. */
  gather(): Promise<void>;
  /** To be called when a process has ended: what it counted stays counted, so that no counter goes back. */
  left(process: object): void;
}

/**
 * @param own the families of the process that gathers, whose values are added to those of the others
 * @param ask what each of the others has counted; undefined for one that does not say so in time, whose last values stay
 */
export function gatherMetrics(
  own: readonly MetricFamily[],
  ask: () => Promise<ReadonlyMap<object, Readings | undefined>>,
): GatheredMetrics {
  const gone = new Map<string, readonly Sample<Value>[]>();
  const latest = new Map<object, ReadonlyMap<string, readonly Sample<Value>[]>>();
  const left = new WeakSet<object>();
  const asking = createSingleFlight<void>();

  const families = own.map((family) => {
    const read = () =>
      added(family, [
        family.read(),
        gone.get(family.name) ?? [],
        ...Array.from(latest.values(), (readings) => readings.get(family.name) ?? []),
      ]);
    return { ...family, read } as MetricFamily;
  });

  return {
    families,
    gather: () =>
      asking.share(async () => {
        for (const [process, readings] of await ask()) {
          // it may have ended while others were asked: what it counted is taken already
          if (readings !== undefined && !left.has(process)) latest.set(process, new Map(readings));
        }
      }),
    left(process) {
      left.add(process);
      const last = latest.get(process);
      latest.delete(process);
      for (const family of own) {
        if (family.type === "gauge") continue;
        const { name } = family;
        gone.set(name, added(family, [gone.get(name) ?? [], last?.get(name) ?? []]));
      }
    },
  };
}

function added(
  { ofSeveral }: MetricFamily,
  readings: readonly (readonly Sample<Value>[])[],
): readonly Sample<Value>[] {
  return merged(readings.flat(), (one, other) => {
    if (typeof one === "number" && typeof other === "number") {
      return ofSeveral === "largest" ? Math.max(one, other) : one + other;
    }
    return typeof one === "number" || typeof other === "number" ? one : {
      cumulative: one.cumulative.map((count, at) => count + (other.cumulative[at] ?? 0)),
      sumSeconds: one.sumSeconds + other.sumSeconds,
    };
  });
}
