import assert from "node:assert/strict";
import { testWithPostgres } from "../support/database.ts";
import { createStateDatabase } from "../support/state.ts";
import { cutState, killProcess, rollReplica } from "./faults.ts";
import { hasVectors, startFleet } from "./fleet.ts";
import { runSoak } from "./run_soak.ts";

const linuxTest = Deno.build.os === "linux"
  ? testWithPostgres
  : (name: string, fn: (t: Deno.TestContext) => Promise<void>) =>
    Deno.test({ name: `${name} (needs Linux)`, ignore: true, fn });

/** What callers must have had once at least. */
const checked = [
  "rows checked",
  "rights refused",
  "logins",
  "logouts",
  "ended tokens refused",
  "grants",
  "refreshed",
  "tasks completed",
  "tasks cancelled",
  "streams",
  "429",
];

linuxTest("replicas keep what they promise while processes end and the state is away", async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const lines = [`SOAK_SEED=${seed}`];
  await using state = await createStateDatabase();
  const { hostname, port, password } = new URL(state.url);
  const isVectors = await hasVectors();
  await using fleet = await startFleet({
    state: {
      host: hostname,
      port: Number(port),
      database: state.database.name,
      user: state.role,
      password,
    },
    isVectors,
    victims: 0,
  });
  const { errors, counts } = await runSoak({
    fleet,
    seed,
    warmUpMs: 15_000,
    faults: [killProcess, cutState(8_000), rollReplica],
    pauseMs: 5_000,
    atLeast: checked,
    say: (line) => lines.push(line),
  });
  const log = `${lines.join("\n")}\n${[...counts].map(([name, count]) => `${name}: ${count}`).join("\n")}`;
  // the log has them
  assert.equal(errors.length, 0, log);
  for (const name of checked) assert.ok((counts.get(name) ?? 0) > 0, `nobody had ${name}:\n${log}`);
  await t.step({
    name: isVectors ? "questions to the RAG server" : "questions to the RAG server (needs pgvector)",
    ignore: !isVectors,
    fn: () => assert.ok((counts.get("streamed answers") ?? 0) > 0, log),
  });
});
