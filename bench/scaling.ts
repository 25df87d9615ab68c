/**
 * How the cost of a call grows with the rows and columns of its answer, with connections, principals and databases.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:scaling [answers] [connections] [principals] [databases]
 */
import { tokenOf } from "./credential_texts.ts";
import { httpLoad, type LoadRequest } from "./http_load.ts";
import { printTable, quantile, residentBytes } from "./measure.ts";
import {
  answer,
  createMeasuredDatabase,
  databaseName,
  query,
  selectOne,
  startToolServer,
  withCpu,
} from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 3);
const connections = 32;
const warmUp = 5_000;
const principals = [1, 4, 16, 64, 256];
const databases = [1, 4, 16, 64, 256];

await using database = await createMeasuredDatabase();

interface Step {
  readonly figures: readonly number[];
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
}

/** Measures the steps one after another on one server. */
async function print(heads: readonly string[], steps: readonly Step[]): Promise<void> {
  await using server = await startToolServer({
    database,
    tokens: Math.max(...principals),
    names: Math.max(...databases),
  });
  await httpLoad({ url: server.url, requests: [selectOne], connections, count: warmUp });
  const rows: string[][] = [];
  for (const { figures, ...step } of steps) {
    const load = { url: server.url, ...step };
    await httpLoad({ ...load, seconds: seconds / 2 });
    const { perSecond, cpuMs, times } = await withCpu(server, () => httpLoad({ ...load, seconds }));
    const { now } = await residentBytes(server.pid);
    rows.push([
      ...figures.map(String),
      perSecond.toFixed(0),
      cpuMs.toFixed(3),
      ...[0.5, 0.99].map((part) => quantile(times, part).toFixed(2)),
      (now / 2 ** 20).toFixed(0),
    ]);
  }
  printTable([...heads, "calls a second", "CPU a call, ms", "p50, ms", "p99, ms", "memory, MB"], rows);
}

const sizes = [[1, 4], [10, 4], [100, 4], [1000, 4], [100, 1], [100, 10], [100, 40]] as const;
const byAnswer = sizes.map(([rows, width]) => ({
  figures: [rows, width],
  requests: [answer(rows, width)],
  connections,
}));

const byConnections = [1, 4, 16, 64, 256, 1024].map((count) => ({
  figures: [count],
  requests: [selectOne],
  connections: count,
}));

const byPrincipals = principals.map((count) => ({
  figures: [count],
  requests: Array.from({ length: count }, (_, at) => query("SELECT 1", "?column?", { token: tokenOf(at) })),
  connections,
}));

const byDatabases = databases.map((count) => ({
  figures: [count],
  requests: Array.from(
    { length: count },
    (_, at) => query("SELECT 1", "?column?", { database: databaseName(at) }),
  ),
  connections,
}));

const measurements = {
  answers: () => print(["rows", "columns"], byAnswer),
  connections: () => print(["connections"], byConnections),
  principals: () => print(["principals"], byPrincipals),
  databases: () => print(["databases"], byDatabases),
};
for (const [name, measure] of Object.entries(measurements)) {
  if (Deno.args.length === 0 || Deno.args.includes(name)) await measure();
}
