import type { ServedBy, ServerMetrics } from "../../core/metrics/server_metrics.ts";
import type { Database } from "../../postgres/database.ts";
import type { ConnectionPools } from "../../postgres/pool/connection_pools.ts";

/**
 * Has the metrics tell of a server's connections from now on, until it is disposed of. Pools are asked when somebody reads
 * the metrics. A database without a connection has zeros, so that an alert can tell it from one that nobody looks at.
 *
 * @param databases those that are served now
 */
export function watchPools(
  metrics: ServerMetrics,
  server: ServedBy,
  { pools, maxConnections, databases }: {
    readonly pools: ConnectionPools;
    readonly maxConnections: number;
    readonly databases: () => readonly Pick<Database, "name" | "hosts">[];
  },
): Disposable {
  const watched = new DisposableStack();
  watched.defer(metrics.connections.collect(function* () {
    for (const { name: database } of databases()) {
      for (const state of states) yield { labels: [server, database, state], value: 0 };
    }
    for (const { database, connections } of pools.counts()) {
      for (const state of states) yield { labels: [server, database, state], value: connections[state] };
    }
  }));
  watched.defer(metrics.waiting.collect(function* () {
    for (const { name } of databases()) yield { labels: [server, name], value: 0 };
    for (const { database, waiting } of pools.counts()) yield { labels: [server, database], value: waiting };
  }));
  watched.defer(metrics.connectionsMax.collect(() => [{ labels: [server], value: maxConnections }]));
  watched.defer(
    metrics.hostLag.collect(() =>
      databases().flatMap(({ name, hosts }) =>
        hosts().map(({ host, role, lagMs }) => ({ labels: [server, name, host, role], value: lagMs / 1_000 }))
      )
    ),
  );
  return watched;
}

const states = ["opening", "idle", "in_use", "closing", "stuck"] as const;
