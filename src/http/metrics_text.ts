import type { default as prom } from "prom-client";
import { createSingleFlight } from "../core/async/single_flight.ts";
import { createSlices } from "../core/async/yield.ts";
import {
  durationBounds,
  type HistogramReading,
  type MetricFamily,
  type Sample,
} from "../core/metrics/metric_family.ts";

/** Metrics in Prometheus's text format. */
interface MetricsText {
  readonly contentType: string;
  /** As they are now; who asks while it is written shares it. The event loop is kept for some milliseconds at a time. */
  write(): Promise<string>;
}

export async function createMetricsText(families: readonly MetricFamily[]): Promise<MetricsText> {
  // who has no use for it need not wait for it to load
  const { default: { Counter, Gauge, Histogram, Registry } } = await import("prom-client");
  const registry = new Registry();
  for (const family of families) {
    const { name, help, labels, type } = family;
    const options = { name, help, labelNames: [...labels], registers: [] };
    const kinds = { counter: Counter, gauge: Gauge, histogram: Histogram };
    const described = await new kinds[type](options).get();
    // its own kinds count by labels that they join for each count; ours have counted already, and it writes what they hold
    const get = () => Promise.resolve({ ...described, values: valuesOf(family) });
    registry.registerMetric(Object.assign(new Gauge(options), { get }));
  }

  async function write(): Promise<string> {
    const nextSlice = createSlices();
    const parts: string[] = [];
    for (const { name } of families) {
      await nextSlice();
      parts.push(await registry.getSingleMetricAsString(name));
    }
    return `${parts.join("\n")}\n`;
  }

  const writing = createSingleFlight<string>();
  return { contentType: registry.contentType, write: () => writing.share(write) };
}

type Value = prom.MetricValueWithName<string>;

function valuesOf(family: MetricFamily): Value[] {
  const { name, labels } = family;
  return family.type === "histogram"
    ? family.read().flatMap((sample) => histogramValues(name, labelsOf(labels, sample), sample.value))
    : family.read().map((sample) => ({
      metricName: name,
      labels: labelsOf(labels, sample),
      value: sample.value,
    }));
}

function histogramValues(name: string, labels: Value["labels"], reading: HistogramReading): Value[] {
  const { cumulative, sumSeconds } = reading;
  const total = cumulative.at(-1) ?? 0;
  return [
    ...cumulative.map((value, at) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: String(durationBounds[at] ?? "+Inf") },
      value,
    })),
    { metricName: `${name}_sum`, labels, value: sumSeconds },
    { metricName: `${name}_count`, labels, value: total },
  ];
}

/** To Prometheus, a label without a value is one that is absent. */
function labelsOf(names: readonly string[], { labels }: Sample<unknown>): Value["labels"] {
  return Object.fromEntries(
    names.map((name, at) => [name, labels[at] ?? ""] as const).filter(([, value]) => value !== ""),
  );
}
