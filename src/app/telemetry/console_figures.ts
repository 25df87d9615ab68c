import { latestOf, type RecentCall } from "../../calls/recent_calls.ts";
import { merged, type Sample } from "../../core/metrics/metric_family.ts";
import type { Running } from "../shared_parts.ts";

type Samples = readonly Sample[];

/** What the console shows of all processes of this server together. */
export function consoleFigures(
  { child, metrics, recentCalls }: Pick<Running, "child" | "metrics" | "recentCalls">,
) {
  const families = [
    metrics.connections.family,
    metrics.waiting.family,
    metrics.providerCalls.family,
    metrics.providerTokens.family,
  ];
  const readOwn = () => families.map((family) => family.read() as Samples);
  const ownCalls = (asked: { readonly key?: string | undefined }) => recentCalls?.latest(asked.key) ?? [];
  const askCalls = child?.amongOthers("recent calls", ownCalls);
  const askFigures = child?.amongOthers("figures", readOwn);

  return {
    /** The latest first. @param key of the caller whose calls are wanted; undefined: of all */
    async recentCalls(key?: string): Promise<readonly RecentCall[]> {
      const others = await askCalls?.({ key }) ?? [];
      return latestOf([...ownCalls({ key }), ...others.flatMap((calls) => calls ?? [])]);
    },
    async figures() {
      const others = await askFigures?.() ?? [];
      const all = [readOwn(), ...others.flatMap((readings) => readings ? [readings] : [])];
      const [connections = [], waiting = [], calls = [], tokens = []] = families.map((_, at) =>
        merged(all.flatMap((readings) => readings[at] ?? []), (one, other) => one + other)
      );
      return {
        pools: poolsOf(connections, waiting),
        providers: providersOf(calls, tokens),
        processes: 1 + others.length,
      };
    },
  };
}

/** The connections of each server to each database, by their state. */
function poolsOf(connections: Samples, waiting: Samples) {
  return waiting.map(({ labels: [server = "", database = ""], value }) => {
    const own = connections.filter(({ labels }) => labels[0] === server && labels[1] === database);
    const byState = Object.fromEntries(own.map(({ labels, value }) => [labels[2], value]));
    return { database, ...byState, waiting: value };
  });
}

/** What providers were asked since the server started. The pipeline is empty for requests in words. */
function providersOf(calls: Samples, tokens: Samples) {
  const byProvider = Map.groupBy([...calls, ...tokens], ({ labels }) => JSON.stringify(labels.slice(0, 3)));
  return [...byProvider].map(([key, samples]) => {
    const [, pipeline, provider] = JSON.parse(key);
    /** Of tokens there is a kind and no end. */
    const sum = (isMeant: (kind: string, end: string) => boolean) =>
      samples.filter(({ labels: [, , , kind = "", end = ""] }) => isMeant(kind, end))
        .reduce((total, { value }) => total + value, 0);
    return {
      pipeline,
      provider,
      calls: sum((_, end) => end !== ""),
      errors: sum((_, end) => !["", "ok", "cancelled"].includes(end)),
      // those of cached parts are among the prompts'
      tokens: sum((kind) => kind === "prompt" || kind === "completion"),
    };
  });
}
