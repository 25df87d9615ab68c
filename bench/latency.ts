/**
 * How long callers of the tool server wait, and what it adds to PostgreSQL's own time. All connections send without a
 * pause, so at 32 and 256 most of a call's time is its wait for the others.
 *
 *   TEST_DATABASE_URL=postgres://… deno task bench:latency
 */
import { pg } from "../src/postgres/connection.ts";
import { httpLoad } from "./http_load.ts";
import { median, printTable, quantile } from "./measure.ts";
import { transactionTimes } from "./pg_alone.ts";
import { createMeasuredDatabase, kinds, selectOne, startToolServer } from "./tool_calls.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 8);
const rounds = 5;
const perRound = 2_000;

await using database = await createMeasuredDatabase();
await using server = await startToolServer({ database });

const ms = (value: number) => value.toFixed(2);
const rows: string[][] = [];
for (const [name, request] of Object.entries(kinds)) {
  for (const connections of [1, 32, 256]) {
    const load = { url: server.url, requests: [request], connections };
    await httpLoad({ ...load, count: perRound });
    const { times } = await httpLoad({ ...load, seconds });
    rows.push([name, String(connections), ...[0.5, 0.99, 0.999].map((part) => ms(quantile(times, part)))]);
  }
}
printTable(["call", "connections", "p50, ms", "p99, ms", "p99.9, ms"], rows);

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
