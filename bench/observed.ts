/**
 * What it costs to watch the tool server: calls a second of 32 connections over HTTP, and CPU of its process for each, with
 * the access log, `GET /metrics` and traces on, or with an audit trail, beside a server without any of them; and the median
 * time of a call of one connection. All are measured in turn; each figure is the median of fifteen short runs.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:observed [part of a kind] [part of what is on]
 */
import { httpLoad } from "./http_load.ts";
import { median, printTable } from "./measure.ts";
import { createMeasuredDatabase, kinds, startToolServer, withCpu } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 0.7);
const rounds = Number(Deno.env.get("BENCH_ROUNDS") ?? 15);
const connections = 32;
const warmUp = 2_000;
const [wanted = "", wantedOn = ""] = Deno.args;

await using database = await createMeasuredDatabase();
let sent = 0;
const collector = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
  sent += (await request.arrayBuffer()).byteLength;
  return Response.json({});
});
const watched = "log: { access: true }\nmetrics: { address: 127.0.0.1:0 }\n";
const traced = (ratio: number) =>
  `traces: { endpoint: "http://127.0.0.1:${collector.addr.port}", sample_ratio: ${ratio} }\n`;
const settings = {
  "nothing": "",
  "log and metrics": watched,
  "and 5 % of traces": watched + traced(0.05),
  "and all traces": watched + traced(1),
  "an audit trail": "audit: { file: audit.jsonl }\n",
  "a required audit trail": "audit: { file: audit.jsonl, required: true }\n",
};
await using stack = new AsyncDisposableStack();
stack.defer(() => collector.shutdown());
const servers = await Promise.all(
  Object.entries(settings).filter(([name]) => name === "nothing" || name.includes(wantedOn)).map(async (
    [name, settings],
  ) => ({
    name,
    server: stack.use(await startToolServer({ database, settings })),
  })),
);

const rows: string[][] = [];
for (const [kind, request] of Object.entries(kinds)) {
  if (!kind.includes(wanted)) continue;
  const runs = servers.map((server) => ({
    ...server,
    perSecond: [] as number[],
    cpuMs: [] as number[],
    aloneMs: [] as number[],
  }));
  const load = (url: string) => ({ url, requests: [request], connections });
  for (const { server } of runs) await httpLoad({ ...load(server.url), count: warmUp });
  for (let round = 0; round < rounds; round++) {
    for (const { server, perSecond, cpuMs, aloneMs } of runs) {
      const result = await withCpu(server, () => httpLoad({ ...load(server.url), seconds }));
      perSecond.push(result.perSecond);
      cpuMs.push(result.cpuMs);
      aloneMs.push(median([...(await httpLoad({ ...load(server.url), connections: 1, seconds })).times]));
    }
  }
  const [alone] = runs;
  for (const { name, perSecond, cpuMs, aloneMs } of runs) {
    const [calls, cpu, ms] = [median(perSecond), median(cpuMs), median(aloneMs)];
    const ratios = [
      calls / median(alone?.perSecond ?? []),
      cpu / median(alone?.cpuMs ?? []),
      ms / median(alone?.aloneMs ?? []),
    ];
    rows.push([kind, name, calls.toFixed(0), ...ratios.map((ratio) => ratio.toFixed(3))]);
  }
}
printTable([
  `${connections} connections`,
  "on",
  "calls a second",
  "ratio",
  "CPU a call, ratio",
  "alone, ratio",
], rows);
printTable(["", "MB"], [["sent to the collector", (sent / 2 ** 20).toFixed(1)]]);
