/**
 * What one call costs the tool server, by kind of call and by the way that it comes: bare JSON-RPC, and as MCP's clients
 * send it in 2025-06-18 and 2026-07-28. Calls a second of 32 connections over HTTP, CPU of the process, and its memory in
 * the end. Where PEER_SERVER names the executable of pgEdge's MCP server, TOOLBOX_SERVER that of MCP Toolbox, they are
 * measured in turn on the same PostgreSQL, with as many connections to it. Each figure is the median of five runs; `wrk`
 * sends the load where it is.
 *
 * PROCESSES=2 measures ours with two processes too (`processes: 2`). POOL_SIZE is how many connections to PostgreSQL each
 * server has, 4 where it is not set.
 *
 *   TEST_DATABASE_URL=postgres://… [PEER_SERVER=…] [TOOLBOX_SERVER=…] [PROCESSES=…] deno task bench:calls [part of a kind]
 */
import type { LoadRequest } from "./http_load.ts";
import { median, printTable, residentBytes, sharedOutBytes } from "./measure.ts";
import { asToolboxCall, startPeer, startToolbox } from "./peer.ts";
import {
  asClient,
  createMeasuredDatabase,
  kinds,
  type MeasuredServer,
  startToolServer,
  withCpu,
} from "./tool_calls.ts";
import { wrkLoad } from "./wrk_load.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 2);
const rounds = 5;
const connections = 32;
const wanted = Deno.args[0] ?? "";
const peerPath = Deno.env.get("PEER_SERVER");
const processes = Deno.env.get("PROCESSES");
const toolboxPath = Deno.env.get("TOOLBOX_SERVER");

await using database = await createMeasuredDatabase();
await using ours = await startToolServer({ database });
await using several = processes === undefined
  ? undefined
  : await startToolServer({ database, settings: `processes: ${processes}\n` });
await using peer = peerPath === undefined ? undefined : await startPeer(peerPath, database);
await using toolbox = toolboxPath === undefined ? undefined : await startToolbox(toolboxPath, database);

interface Way {
  readonly name: string;
  readonly server: MeasuredServer;
  readonly send: (request: LoadRequest) => LoadRequest;
}

const older = (request: LoadRequest) => asClient(request, "2025-06-18");
const ways: readonly Way[] = [
  { name: "bare JSON-RPC", server: ours, send: (request) => request },
  { name: "2025-06-18", server: ours, send: older },
  { name: "2026-07-28", server: ours, send: (request) => asClient(request, "2026-07-28") },
  ...(several === undefined ? [] : [
    { name: `bare, ${processes} processes`, server: several, send: (request: LoadRequest) => request },
    { name: `2025-06-18, ${processes} processes`, server: several, send: older },
  ]),
  ...(peer === undefined ? [] : [{ name: "pgEdge's", server: peer, send: older }]),
  ...(toolbox === undefined
    ? []
    : [{ name: "Toolbox", server: toolbox, send: (request: LoadRequest) => asToolboxCall(older(request)) }]),
];

async function measure(kind: string, request: LoadRequest): Promise<string[][]> {
  const runs = ways.map((way) => ({
    way,
    perSecond: [] as number[],
    cpuMs: [] as number[],
    p99Ms: [] as number[],
  }));
  for (let round = -1; round < rounds; round++) {
    for (const { way: { server, send }, perSecond, cpuMs, p99Ms } of runs) {
      const load = { url: server.url, request: send(request), connections, seconds };
      const result = await withCpu(server, () => wrkLoad(load));
      if (round < 0) continue; // the first is to warm up
      perSecond.push(result.perSecond);
      cpuMs.push(result.cpuMs);
      p99Ms.push(result.p99Ms);
    }
  }
  const bare = median(runs[0]?.perSecond ?? []);
  return runs.map(({ way, perSecond, cpuMs, p99Ms }) => [
    kind,
    way.name,
    median(perSecond).toFixed(0),
    (median(perSecond) / bare).toFixed(2),
    median(cpuMs).toFixed(3),
    median(p99Ms).toFixed(1),
  ]);
}

const rows: string[][] = [];
for (const [name, request] of Object.entries(kinds)) {
  if (name.includes(wanted)) rows.push(...await measure(name, request));
}
printTable(
  [`${connections} connections`, "way", "calls a second", "of bare", "CPU a call, ms", "p99, ms"],
  rows,
);
const servers = new Map(ways.map(({ name, server }) => [server, name]));
const memory = Array.from(servers, async ([{ pid }, name]) => {
  const { now, peak } = await residentBytes(pid);
  return [name, ...[now, peak, await sharedOutBytes(pid)].map((bytes) => (bytes / 2 ** 20).toFixed(0))];
});
printTable(["memory, MB", "in the end", "peak", "PSS of all its processes"], await Promise.all(memory));
