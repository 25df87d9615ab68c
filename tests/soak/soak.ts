/**
 * Replicas in all the trouble that there is, for SOAK_SECONDS (3600), in an order that SOAK_SEED decides; callers check every
 * reply. It prints a line for each fault, and figures at the end. It exits with 1 where anything broke what is promised.
 *
 *   TEST_DATABASE_URL=postgres://… deno task soak
 */
import { clusterObstacle } from "../support/postgres_cluster.ts";
import { findProgram } from "../support/programs.ts";
import { createStateDatabase } from "../support/state.ts";
import {
  cutState,
  endToken,
  type Fault,
  killProcess,
  killReplica,
  lockAccount,
  pauseReplica,
  reload,
  rollReplica,
  rotateCertificates,
} from "./faults.ts";
import { hasVectors, startFleet } from "./fleet.ts";
import { fillDisk } from "./full_disk.ts";
import { startOwnState, startSpreadDatabase } from "./own_servers.ts";
import { createRandomNumbers } from "../../src/core/random_numbers.ts";
import { runSoak, told } from "./run_soak.ts";

const seconds = Number(Deno.env.get("SOAK_SECONDS") ?? 3_600);
const seed = Number(Deno.env.get("SOAK_SEED") ?? Math.floor(Math.random() * 2 ** 32));
const warmUpMs = 20_000;
const pauseMs = 4_000;
const endsAt = Date.now() + seconds * 1_000 - warmUpMs;

const say = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
say(`SOAK_SECONDS=${seconds} SOAK_SEED=${seed}`);
const skip = (what: string, needs: string) => say(`skipped: ${what} (needs ${needs})`);

await using made = new AsyncDisposableStack();
const obstacle = clusterObstacle();
const own = obstacle === undefined ? made.use(await startOwnState()) : undefined;
if (own === undefined) skip("restarts of the state's PostgreSQL", `${obstacle}`);
const standbyObstacle = clusterObstacle("pg_basebackup");
const spread = standbyObstacle === undefined ? made.use(await startSpreadDatabase()) : undefined;
if (spread === undefined) skip("failing over", `${standbyObstacle}`);
const isVectors = await hasVectors();
if (!isVectors) skip("questions to the RAG server", "pgvector");
const isTls = findProgram("nginx") !== undefined && findProgram("openssl") !== undefined;
if (!isTls) skip("rotating certificates", "nginx and openssl");
const victims = Math.ceil(seconds / 30);
const fleet = made.use(
  await startFleet({
    state: own?.place ?? await sharedState(),
    spread: spread?.database,
    isVectors,
    isTls,
    victims,
    // an hour of audit trails is below 20 MiB
    diskMebibytes: 32 + Math.ceil(seconds / 60),
  }),
);
say(`behind ${fleet.balancer.name}`);
const [disk] = fleet.disks;
if (disk === undefined) skip("full disks", "root, and mount");

const kinds: readonly Fault[] = [
  killProcess,
  killReplica,
  pauseReplica,
  cutState(3_000),
  cutState(15_000),
  rollReplica,
  reload,
  endToken,
  lockAccount(fleet.victims),
  ...isTls ? [rotateCertificates] : [],
  ...disk === undefined ? [] : [fillDisk(disk)],
  ...own?.faults ?? [],
  ...spread === undefined ? [] : [spread.failOver],
];

/** All of them in some order, and again in another. */
function* inRandomOrder(): Generator<Fault> {
  const random = createRandomNumbers(seed);
  for (;;) {
    const left = [...kinds];
    while (left.length > 0) {
      if (Date.now() > endsAt) return;
      yield* left.splice(Math.floor(random() * left.length), 1);
    }
  }
}

const startedAt = performance.now();
const { errors, counts, warm, end } = await runSoak({
  fleet,
  seed,
  warmUpMs,
  faults: inRandomOrder(),
  pauseMs,
  say,
});
say(`\nafter ${((performance.now() - startedAt) / 1_000).toFixed(0)} s:`);
for (const [name, count] of [...counts].toSorted()) say(`${name.padEnd(36)} ${count}`);
say(`${"held, warmed up".padEnd(36)} ${told(warm)}`);
say(`${"held, at the end".padEnd(36)} ${told(end)}`);
say(`${"errors".padEnd(36)} ${errors.length}`);
for (const error of errors) say(error);
if (errors.length > 0) Deno.exitCode = 1;

async function sharedState() {
  const state = made.use(await createStateDatabase());
  const { hostname: host, port, password } = new URL(state.url);
  return { host, port: Number(port), database: state.database.name, user: state.role, password };
}
