/**
 * What one call costs the tool server, by kind of call: calls a second of 32 connections over HTTP, CPU of its process,
 * and its memory in the end. Where PEER_SERVER names the executable of pgEdge's MCP server, both are measured in turn on
 * the same PostgreSQL, with as many connections to it. Each figure is the median of five runs.
 *
 *   TEST_DATABASE_URL=postgres://… [PEER_SERVER=…] deno task bench:calls [part of a kind]
 */
import { httpLoad, type LoadRequest } from "./http_load.ts";
import { median, printTable, residentBytes } from "./measure.ts";
import { startPeer } from "./peer.ts";
import { createMeasuredDatabase, kinds, startToolServer, withCpu } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 2);
const rounds = 5;
const connections = 32;
const warmUp = 2_000;
const wanted = Deno.args[0] ?? "";
const peerPath = Deno.env.get("PEER_SERVER");

await using database = await createMeasuredDatabase();
await using ours = await startToolServer({ database });
await using peer = peerPath === undefined ? undefined : await startPeer(peerPath, database);
const servers = peer === undefined ? [ours] : [ours, peer];

async function measure(request: LoadRequest): Promise<string[]> {
  const runs = servers.map((server) => ({ server, perSecond: [] as number[], cpuMs: [] as number[] }));
  const load = (url: string) => ({ url, requests: [request], connections });
  for (const { server } of runs) await httpLoad({ ...load(server.url), count: warmUp });
  for (let round = 0; round < rounds; round++) {
    for (const { server, perSecond, cpuMs } of runs) {
      const result = await withCpu(server, () => httpLoad({ ...load(server.url), seconds }));
      perSecond.push(result.perSecond);
      cpuMs.push(result.cpuMs);
    }
  }
  return [
    ...cells(runs.map((run) => median(run.perSecond)), 0),
    ...cells(runs.map((run) => median(run.cpuMs)), 3),
  ];
}

/** Ours, and with a peer the peer's and ours of it. */
function cells(values: readonly number[], digits: number): string[] {
  const [own = NaN, peers] = values;
  const texts = values.map((value) => value.toFixed(digits));
  return peers === undefined ? texts : [...texts, (own / peers).toFixed(2)];
}

const rows: string[][] = [];
for (const [name, request] of Object.entries(kinds)) {
  if (name.includes(wanted)) rows.push([name, ...await measure(request)]);
}
const others = peer === undefined ? [] : ["peer", "ratio"];
printTable([`${connections} connections`, "calls a second", ...others, "CPU a call, ms", ...others], rows);
const peaks = await Promise.all(servers.map(async ({ pid }) => (await residentBytes(pid)).peak / 2 ** 20));
printTable(["", "MB", ...others], [["peak of memory", ...cells(peaks, 0)]]);
