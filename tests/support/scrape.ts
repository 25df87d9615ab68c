import assert from "node:assert/strict";
import type { ServerProcess } from "./server_process.ts";

export interface ScrapedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Scrape {
  readonly text: string;
  /** By name, in the page's order. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly ScrapedSample[];
  /** The sum of all samples that have these labels, whatever others they have; 0 where there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number;
}

/** Where a server has said that its metrics are. */
export function metricsUrl(server: Pick<ServerProcess, "stderr">): string {
  const url = /metrics are served at (https?:\/\/[^\s"]+)/.exec(server.stderr())?.[1];
  assert.ok(url !== undefined, server.stderr());
  return `${url}/metrics`;
}

/** Reads a server's metrics. */
export async function scrape(server: Pick<ServerProcess, "stderr">): Promise<Scrape> {
  const response = await fetch(metricsUrl(server));
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const lines = text.split("\n");
  const types = lines.flatMap((line) => {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    return name === undefined || type === undefined ? [] : [[name, type] as const];
  });
  const samples = lines.filter((line) => line !== "" && !line.startsWith("#")).map(sampleOf);
  return {
    text,
    types: new Map(types),
    samples,
    value: (name, labels = {}) =>
      samples.filter((sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
      ).reduce((sum, { value }) => sum + value, 0),
  };
}

function sampleOf(line: string): ScrapedSample {
  const [, name = "", labels = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ??
    assert.fail(`no sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-z_][a-z_0-9]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g)];
  assert.equal(pairs.map(([pair]) => pair).join(""), labels, line);
  assert.match(value, /^(?:-?[\d.]+(e[+-]?\d+)?|\+Inf)$/, line);
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = "", text = ""]) => [label, text])),
    value: value === "+Inf" ? Infinity : Number(value),
  };
}
