import { latestOf, type RecentCall } from "../../calls/recent_calls.ts";
import { merged, type Sample } from "../../core/metrics/metric_family.ts";
import type { Running } from "../shared_parts.ts";

type Samples = readonly Sample[];

/** The connections of a server to a database, and who waits for one. */
interface PoolFigures {
  readonly server: string;
  readonly database: string;
  /** By their state: `opening`, `idle`, `in_use`, `closing`, `stuck`. */
  readonly connections: Readonly<Record<string, number>>;
  readonly waiting: number;
  /** Connections that the server may have to all databases together. */
  readonly most: number;
}

/** What a provider was asked since the server started. */
interface ProviderFigures {
  readonly server: string;
  /** Empty for requests in words. */
  readonly pipeline: string;
  readonly provider: string;
  readonly calls: number;
  readonly errors: number;
  readonly tokens: number;
}

/** What the console shows of all processes of this server together. */
export function consoleFigures(
  { child, metrics, recentCalls }: Pick<Running, "child" | "metrics" | "recentCalls">,
) {
  const families = [
    metrics.connections.family,
    metrics.waiting.family,
    metrics.connectionsMax.family,
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
      const [connections = [], waiting = [], most = [], calls = [], tokens = []] = families.map((_, at) =>
        merged(all.flatMap((readings) => readings[at] ?? []), (one, other) => one + other)
      );
      return {
        pools: poolsOf(connections, waiting, most),
        providers: providersOf(calls, tokens),
        processes: 1 + others.length,
      };
    },
  };
}

function poolsOf(connections: Samples, waiting: Samples, most: Samples): PoolFigures[] {
  return waiting.map(({ labels: [server = "", database = ""], value }) => ({
    server,
    database,
    connections: Object.fromEntries(
      connections.filter(({ labels }) => labels[0] === server && labels[1] === database)
        .map(({ labels, value }) => [labels[2], value]),
    ),
    waiting: value,
    most: most.find(({ labels }) => labels[0] === server)?.value ?? 0,
  }));
}

function providersOf(calls: Samples, tokens: Samples): ProviderFigures[] {
  const sum = (samples: Samples) => samples.reduce((total, { value }) => total + value, 0);
  const keyOf = ({ labels }: Sample) => JSON.stringify(labels.slice(0, 3));
  return [...Map.groupBy(calls, keyOf)].map(([key, ofProvider]) => {
    const [server, pipeline, provider] = JSON.parse(key);
    return {
      server,
      pipeline,
      provider,
      calls: sum(ofProvider),
      errors: sum(ofProvider.filter(({ labels }) => labels[4] !== "ok" && labels[4] !== "cancelled")),
      // those of cached parts are among the prompts'
      tokens: sum(
        tokens.filter((sample) =>
          keyOf(sample) === key && (sample.labels[3] === "prompt" || sample.labels[3] === "completion")
        ),
      ),
    };
  });
}
