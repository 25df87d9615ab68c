/**
 * Which share of the calls' time each stage has, as the server itself counts it, by kind of call and number of connections.
 * With more connections than the server has to PostgreSQL, most of the time is waiting for one.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:shares
 */
import { type Scrape, scrape } from "../tests/support/scrape.ts";
import { httpLoad } from "./http_load.ts";
import { printTable } from "./measure.ts";
import { createMeasuredDatabase, kinds, startToolServer } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 2);
const connections = [1, 32, 256];
const warmUp = 1_000;
const stages = ["identity", "guard", "queue", "postgresql", "reply"];

await using database = await createMeasuredDatabase();
await using server = await startToolServer({ database, settings: "metrics: { address: 127.0.0.1:0 }\n" });
const rows: string[][] = [];
for (const [name, request] of Object.entries(kinds)) {
  for (const count of connections) {
    const load = { url: server.url, requests: [request], connections: count };
    await httpLoad({ ...load, count: warmUp });
    const before = await scrape(server);
    await httpLoad({ ...load, seconds });
    rows.push([name, String(count), ...sharesOf(before, await scrape(server))]);
  }
}
printTable(["kind of call", "connections", ...stages, "rest"], rows);

/** In percent; the last is the time that is in no stage. */
function sharesOf(before: Scrape, after: Scrape): string[] {
  const spent = (name: string, labels: Readonly<Record<string, string>>) =>
    after.value(name, labels) - before.value(name, labels);
  const whole = spent("postern_http_request_seconds_sum", { route: "/mcp/v1" });
  const shares = stages.map((stage) => spent("postern_stage_seconds_sum", { stage }) / whole);
  const rest = 1 - shares.reduce((sum, share) => sum + share, 0);
  return [...shares, rest].map((share) => `${(100 * share).toFixed(1)} %`);
}
