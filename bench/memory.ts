/**
 * What the tool server holds in memory under load: after 100,000 small calls, after large answers, and after it has had
 * nothing to do. Where PEER_SERVER names the executable of pgEdge's MCP server, it stands beside ours.
 *
 *   TEST_DATABASE_URL=postgres://… [PEER_SERVER=…] deno task bench:memory
 */
import { httpLoad } from "./http_load.ts";
import { printTable, residentBytes } from "./measure.ts";
import { startPeer } from "./peer.ts";
import {
  answer,
  asClient,
  createMeasuredDatabase,
  selectOne,
  startToolServer,
  withCpu,
} from "./tool_calls.ts";

const connections = 32;
const small = asClient(selectOne, "2025-06-18");
const idleMs = 15_000;
const stages = [
  { name: "1,000 calls of SELECT 1", request: small, count: 1_000 },
  { name: "10,000 of them", request: small, count: 9_000 },
  { name: "100,000 of them", request: small, count: 90_000 },
  { name: "1,000 answers of 1,000 rows of 20 columns", request: answer(1000, 20), count: 1_000 },
];
const peerPath = Deno.env.get("PEER_SERVER");

await using database = await createMeasuredDatabase();
await using ours = await startToolServer({ database });
await using peer = peerPath === undefined ? undefined : await startPeer(peerPath, database);
const servers = peer === undefined ? [ours] : [ours, peer];

const rows: string[][] = [];
async function add(name: string, perCall: readonly string[]): Promise<void> {
  const figures = await Promise.all(servers.map(async ({ pid }, at) => {
    const { now, peak } = await residentBytes(pid);
    return [...[now, peak].map((bytes) => (bytes / 2 ** 20).toFixed(0)), perCall[at] ?? ""];
  }));
  rows.push([name, ...figures.flat()]);
}

await add("the start", []);
for (const { name, request, count } of stages) {
  const perCall: string[] = [];
  for (const server of servers) {
    const load = { url: server.url, requests: [request], connections, count };
    perCall.push((await withCpu(server, () => httpLoad(load))).cpuMs.toFixed(3));
  }
  await add(name, perCall);
}
await new Promise((resolve) => setTimeout(resolve, idleMs));
await add(`${idleMs / 1000} s without a call`, []);
const heads = ["MB", "peak, MB", "CPU a call, ms"];
printTable(["after", ...heads, ...peer === undefined ? [] : heads.map((head) => `peer: ${head}`)], rows);
