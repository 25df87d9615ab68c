import {
  type HistogramReading,
  merged,
  type MetricFamily,
  type Sample,
} from "../../core/metrics/metric_family.ts";

type Samples = readonly Sample<number | HistogramReading>[];

/** What one process has counted: the samples of each family, by its name. */
export type Readings = readonly (readonly [name: string, samples: Samples])[];

/** The metrics of several processes as if they were one's. */
export type GatheredMetrics = ReturnType<typeof gatherMetrics>;

/**
 * @param own the families of the process that gathers, whose values are added to those of the others
 * @param ask asks the others; hands over what each of those has counted that says so in time, and is still there
 */
export function gatherMetrics(
  own: readonly MetricFamily[],
  ask: (take: (process: object, readings: Readings) => void) => Promise<void>,
) {
  const latest = new Map<object, ReadonlyMap<string, Samples>>();
  const gone = {};
  const of = (process: object, { name }: MetricFamily) => latest.get(process)?.get(name) ?? [];
  return {
    families: own.map((family) => {
      const others = () => [...latest.keys()].flatMap((process) => of(process, family));
      return { ...family, read: () => added(family, [...family.read(), ...others()]) } as MetricFamily;
    }),
    /** Asks all processes; the families hold what they say from then on, or said before. */
    gather: () => ask((process, readings) => void latest.set(process, new Map(readings))),
    /** To be called when a process has ended: what it counted stays counted, so that no counter goes back. */
    left(process: object): void {
      const counted = own.filter(({ type }) => type !== "gauge");
      latest.set(
        gone,
        new Map(
          counted.map((family) =>
            [family.name, added(family, [...of(gone, family), ...of(process, family)])] as const
          ),
        ),
      );
      latest.delete(process);
    },
  };
}

function added({ ofSeveral }: MetricFamily, samples: Samples): Samples {
  return merged(samples, (one, other) => {
    if (typeof one === "number" || typeof other === "number") {
      return ofSeveral === "largest" ? Math.max(Number(one), Number(other)) : Number(one) + Number(other);
    }
    return {
      cumulative: one.cumulative.map((count, at) => count + (other.cumulative[at] ?? 0)),
      sumSeconds: one.sumSeconds + other.sumSeconds,
    };
  });
}
