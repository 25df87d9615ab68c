/**
 * What one caller that sends all it can takes from the others: how long the calls of a quiet caller take, alone and beside
 * a flood of another caller that heeds no refusal. Where the flood shares the machine's cores, the quiet caller would wait
 * longer even alone on a server: so it calls another one too, which nobody else calls, during the same flood.
 * All run by turns, so that other work of the machine counts for each.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:admission
 */
import { createConfigFolder, databaseEntry } from "../tests/support/configured_server.ts";
import { startServer } from "../tests/support/server_process.ts";
import { tokenFileText, tokenOf } from "./credential_texts.ts";
import type { Flood, FloodCounts } from "./flood_worker.ts";
import { httpLoad } from "./http_load.ts";
import { printTable, quantile } from "./measure.ts";
import { createMeasuredDatabase, kinds, poolSize, query, selectOne } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 4);
const rounds = Number(Deno.env.get("BENCH_ROUNDS") ?? 3);

await using database = await createMeasuredDatabase();
const databases = `databases: [${databaseEntry("main", database.name, `pool_max_conns: ${poolSize}`)}]\n`;
const byToken = (token: number) => ({ authorization: `Bearer ${tokenOf(token)}` });
const byAddress = (address: number) => ({ "x-forwarded-for": `192.0.2.${address}` });

const servers = [
  { name: "tokens", config: databases, flags: [], headersOf: byToken },
  {
    name: "tokens, 16 calls may wait",
    config: `admission: { max_waiting: 16 }\n${databases}`,
    flags: [],
    headersOf: byToken,
  },
  {
    name: "addresses, which share connections",
    config: `http: { client_ip: { header: X-Forwarded-For, trusted_proxies: [127.0.0.1] } }\n${databases}`,
    flags: ["-no-auth"],
    headersOf: byAddress,
  },
];
const floods: readonly { name: string; body: string | undefined; connections: number }[] = [
  { name: "SELECT 1", body: selectOne.body, connections: 32 },
  { name: "SELECT 1", body: selectOne.body, connections: 256 },
  { name: "100 rows of 4 columns", body: kinds["100 rows of 4 columns"]?.body, connections: 256 },
  { name: "pg_sleep(0.5)", body: query("SELECT pg_sleep(0.5)", "").body, connections: 256 },
];

const rows: string[][] = [];
for (const { name: callers, config, flags, headersOf } of servers) {
  await using folder = await createConfigFolder(config);
  await Deno.writeTextFile(folder.tokenFile, tokenFileText(2, "plain"), { mode: 0o600 });
  const start = () => startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile, ...flags]);
  await using server = await start();
  await using otherServer = await start();
  const url = `${server.url}/mcp/v1`;
  const otherUrl = `${otherServer.url}/mcp/v1`;
  const headers = (caller: number) => ({ "content-type": "application/json", ...headersOf(caller) });
  const request = { ...selectOne, headers: headers(0) };
  const quiet = async (url: string) =>
    (await httpLoad({ url, requests: [request], connections: 1, seconds, pauseMs: 2 })).times;
  await quiet(url);
  await quiet(otherUrl);
  for (const { name, body = "", connections } of floods) {
    const alone: number[] = [];
    const elsewhere: number[] = [];
    const beside: number[] = [];
    let counts: FloodCounts = {};
    for (let round = 0; round < rounds; round++) {
      alone.push(...await quiet(url));
      const flood = startFlood({ url, headers: headers(1), body, connections });
      await new Promise((resolve) => setTimeout(resolve, 500));
      elsewhere.push(...await quiet(otherUrl));
      beside.push(...await quiet(url));
      counts = await flood.end();
    }
    rows.push([
      callers,
      `${name}, ${connections} connections`,
      ...figures(alone, elsewhere, beside),
      JSON.stringify(counts),
    ]);
  }
}
printTable(
  [
    "callers",
    "the flood",
    "p50, ms",
    "p99, ms: alone → beside the flood, on another server → on its own",
    "its last replies",
  ],
  rows,
);

/** The middle and the 99th percentile of each, and how many times the one before the last two of the latter are. */
function figures(...of: readonly number[][]): string[] {
  const sorted = of.map((times) => times.toSorted((a, b) => a - b));
  const at = (part: number) => sorted.map((times) => quantile(times, part));
  const arrow = (values: readonly number[]) => values.map((value) => value.toFixed(2)).join(" → ");
  const [alone = NaN, elsewhere = NaN, beside = NaN] = at(0.99);
  const times = `(${(beside / alone).toFixed(1)} times; ${(beside / elsewhere).toFixed(1)} times)`;
  return [arrow(at(0.5)), `${arrow([alone, elsewhere, beside])} ${times}`];
}

function startFlood(flood: Flood): { end(): Promise<FloodCounts> } {
  const worker = new Worker(import.meta.resolve("./flood_worker.ts"), { type: "module" });
  const ended = Promise.withResolvers<FloodCounts>();
  worker.onmessage = ({ data }: MessageEvent<FloodCounts>) => ended.resolve(data);
  worker.onerror = (event) => ended.reject(new Error(event.message));
  worker.postMessage(flood);
  return {
    end() {
      worker.postMessage("end");
      return ended.promise;
    },
  };
}
