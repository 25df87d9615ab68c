/**
 * How long callers of the tool server wait, what share of the time in it each stage has, and what a call adds to its
 * transaction. All connections send without a pause, so at 32 and 256 a call mostly waits for the others.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:latency
 */
import { pg } from "../src/postgres/connection.ts";
import { type Scrape, scrape } from "../tests/support/scrape.ts";
import { httpLoad } from "./http_load.ts";
import { median, printTable, quantile } from "./measure.ts";
import { transactionTimes } from "./pg_alone.ts";
import { createMeasuredDatabase, kinds, selectOne, startToolServer } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 8);
const rounds = 5;
const perRound = 2_000;
const stages = ["identity", "guard", "queue", "postgresql", "reply"];

await using database = await createMeasuredDatabase();
await using server = await startToolServer({ database, settings: "metrics: { address: 127.0.0.1:0 }\n" });

const ms = (value: number) => value.toFixed(2);
const rows: string[][] = [];
for (const [name, request] of Object.entries(kinds)) {
  for (const connections of [1, 32, 256]) {
    const load = { url: server.url, requests: [request], connections };
    await httpLoad({ ...load, count: perRound });
    const before = await scrape(server);
    const { times } = await httpLoad({ ...load, seconds });
    const shares = sharesOf(before, await scrape(server));
    rows.push([
      name,
      String(connections),
      ...[0.5, 0.99, 0.999].map((part) => ms(quantile(times, part))),
      ...shares.map((share) => `${(100 * share).toFixed(0)} %`),
    ]);
  }
}
printTable(["call", "connections", "p50, ms", "p99, ms", "p99.9, ms", ...stages, "rest"], rows);

/** Of the time that the requests had in the server; the last is what is in no stage. */
function sharesOf(before: Scrape, after: Scrape): number[] {
  const spent = (name: string, labels: Readonly<Record<string, string>>) =>
    after.value(name, labels) - before.value(name, labels);
  const whole = spent("postern_http_request_seconds_sum", { route: "/mcp/v1" });
  const shares = stages.map((stage) => spent("postern_stage_seconds_sum", { stage }) / whole);
  return [...shares, 1 - shares.reduce((sum, share) => sum + share, 0)];
}

const client = new pg.Client(database.url);
await client.connect();
const [calls, alone]: [number[], number[]] = [[], []];
for (let round = 0; round < rounds; round++) {
  const load = { url: server.url, requests: [selectOne], connections: 1, count: perRound };
  calls.push(quantile((await httpLoad(load)).times, 0.5));
  alone.push(quantile(await transactionTimes(client, perRound), 0.5));
}
await client.end();
printTable(["SELECT 1, one at a time", "p50, ms"], [
  ["a call", ms(median(calls))],
  ["its transaction by `pg` alone", ms(median(alone))],
  ["what the server adds (aim: at most 0.25)", ms(median(calls) - median(alone))],
]);
