import { endedCaller } from "./callers/ended.ts";
import { limitedCaller } from "./callers/limited.ts";
import { oauthCaller } from "./callers/oauth.ts";
import { ragCaller } from "./callers/rag.ts";
import { sessionCaller } from "./callers/sessions.ts";
import { spreadCaller } from "./callers/spread.ts";
import { sqlCaller } from "./callers/sql.ts";
import { streamCaller } from "./callers/streams.ts";
import { taskCaller } from "./callers/tasks.ts";
import { type Fault, untilReady } from "./faults.ts";
import { type Fleet, processes } from "./fleet.ts";
import { createLedger } from "./ledger.ts";
import type { Load } from "./load.ts";
import type { Holdings } from "./processes.ts";
import { createRandomNumbers } from "../../src/core/random_numbers.ts";

export interface SoakResult {
  /** What broke what is promised. */
  readonly errors: readonly string[];
  /** Of requests, replies and what was checked. */
  readonly counts: ReadonlyMap<string, number>;
  /** Of all replicas together, under load after the warm-up and at the end. */
  readonly warm: Holdings;
  readonly end: Holdings;
}

interface SoakOptions {
  readonly fleet: Fleet;
  readonly seed: number;
  readonly warmUpMs: number;
  /** What happens, one after the other, while callers call. */
  readonly faults: Iterable<Fault>;
  readonly pauseMs: number;
  /** Counts that callers go on for until each is there, on a slow machine too. */
  readonly atLeast?: readonly string[];
  readonly say: (line: string) => void;
}

/** Processes that were started anew, and what is kept for callers, take more than at first. */
const mostMore = { memory: 1.5, memoryMore: 64, descriptors: 1.25, descriptorsMore: 32 };

const longestWaitMs = 120_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Has callers call, each of which checks all of its replies, and faults happen. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { fleet, seed, warmUpMs, faults, pauseMs, atLeast = [], say } = options;
  using ledger = createLedger(say);
  const stopping = new AbortController();
  const load: Load = {
    fleet,
    ledger,
    random: createRandomNumbers(seed),
    stopping: stopping.signal,
    ended: [],
  };
  for (const replica of fleet.replicas) await untilReady(replica);
  const [first = "", second = "", third = ""] = fleet.tokens.free;
  const [alice = "", bob = "", carol = ""] = fleet.users;
  const callers = [
    sqlCaller(load, first),
    sqlCaller(load, second),
    sessionCaller(load, alice),
    sessionCaller(load, bob),
    oauthCaller(load),
    limitedCaller(load),
    endedCaller(load),
    taskCaller(load, third),
    taskCaller(load, third),
    streamCaller(load, carol),
    streamCaller(load, alice),
    ...fleet.spread === undefined ? [] : [spreadCaller(load, second, fleet.spread)],
    ...fleet.documents.length > 0 ? [ragCaller(load, third)] : [],
  ];
  await sleep(warmUpMs);
  const warm = await holdings(fleet);
  say(`warmed up: ${told(warm)}`);
  const faultsRandom = { ...load, random: createRandomNumbers(seed + 1) };
  for (const fault of faults) {
    const startedAt = performance.now();
    const failed = ledger.errors.length;
    const what = await fault.run(faultsRandom).catch((error) => {
      ledger.fail(`${fault.name}: ${error instanceof Error ? error.message : error}`);
    });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    say(
      `${new Date().toISOString().slice(11, 19)} ${fault.name}${
        what ? ` (${what})` : ""
      }: well after ${seconds} s; ` +
        `${ledger.counts.get("requests") ?? 0} requests, ${ledger.errors.length - failed} errors`,
    );
    await sleep(pauseMs);
  }
  const missing = () => atLeast.filter((name) => !ledger.counts.has(name));
  const deadline = Date.now() + longestWaitMs;
  while (missing().length > 0 && Date.now() < deadline) await sleep(500);
  const end = await holdings(fleet);
  stopping.abort();
  await Promise.all(callers);
  for (const replica of fleet.replicas) {
    await untilReady(replica).catch((error) => ledger.fail(String(error)));
    const count = replica.pids().length - 1;
    if (count !== processes) ledger.fail(`${replica.name} has ${count} processes in place of ${processes}`);
  }
  if (end.memory > warm.memory * mostMore.memory + mostMore.memoryMore) {
    ledger.fail(`memory grew from ${told(warm)} to ${told(end)}`);
  }
  if (end.descriptors > warm.descriptors * mostMore.descriptors + mostMore.descriptorsMore) {
    ledger.fail(`open descriptors grew from ${told(warm)} to ${told(end)}`);
  }
  say(`at the end: ${told(end)}`);
  return { errors: ledger.errors, counts: ledger.counts, warm, end };
}

async function holdings(fleet: Fleet): Promise<Holdings> {
  const each = await Promise.all(fleet.replicas.map((replica) => replica.holdings()));
  return {
    memory: each.reduce((sum, { memory }) => sum + memory, 0),
    descriptors: each.reduce((sum, { descriptors }) => sum + descriptors, 0),
  };
}

export const told = ({ memory, descriptors }: Holdings) =>
  `${memory.toFixed(0)} MiB (PSS) and ${descriptors} descriptors`;
