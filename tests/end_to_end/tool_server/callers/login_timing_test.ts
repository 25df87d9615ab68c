import assert from "node:assert/strict";
import { hashPassword } from "../../../../src/identity/users/password_hashing.ts";
import { createConfigFolder } from "../../../support/configured_server.ts";
import { startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

const rounds = 16;

const password = "correct horse battery";

function userFile(hash: string): string {
  const entry = (name: string, state: string) => `  ${name}: { password_hash: ${hash}, ${state} }\n`;
  return "users:\n" + entry("alice", "enabled: true") +
    entry("locked", "enabled: false, disabled_reason: lockout, failed_attempts: 3") +
    entry("disabled", "enabled: false, disabled_reason: administrator");
}

const kinds = [
  ["unknown_user", "nobody", password],
  ["wrong_password", "alice", "another password"],
  ["locked", "locked", password],
  ["disabled", "disabled", password],
] as const;

type Kind = (typeof kinds)[number];

/** Milliseconds of each kind's logins. In random order, what else the machine does falls on all alike. */
async function timesOfKinds(logIn: (kind: Kind) => Promise<void>): Promise<number[][]> {
  const times = kinds.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = kinds.map((_, index) => ({ index, place: Math.random() }))
      .toSorted((a, b) => a.place - b.place);
    for (const { index } of order) {
      const kind = kinds[index];
      assert.ok(kind);
      const started = performance.now();
      await logIn(kind);
      times[index]?.push(performance.now() - started);
    }
  }
  return times;
}

/** What sets a kind apart from the other three. */
interface Distinction {
  readonly kind: string;
  /** The larger median over the smaller. */
  readonly medians: number;
  /** How many standard deviations the rank sum is from what chance gives (Mann and Whitney, normal approximation). */
  readonly ranks: number;
}

function distinctions(times: readonly number[][]): Distinction[] {
  return times.map((own, kind) => {
    const others = times.filter((_, other) => other !== kind).flat();
    const [a, b] = [median(own), median(others)];
    return {
      kind: kinds[kind]?.[0] ?? "",
      medians: Math.max(a, b) / Math.min(a, b),
      ranks: Math.abs(standardRankSum(own, others)),
    };
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

function standardRankSum(own: readonly number[], others: readonly number[]): number {
  const wins = own.reduce((sum, mine) => sum + others.filter((other) => other < mine).length, 0);
  const pairs = own.length * others.length;
  return (wins - pairs / 2) / Math.sqrt(pairs * (own.length + others.length + 1) / 12);
}

// a leak that a caller could use with so many logins is far beyond both; noise reaches neither three times in a row
const isTellable = ({ medians, ranks }: Distinction) => medians > 1.25 || (ranks > 4 && medians > 1.05);

Deno.test("the time of a failed login over HTTP does not tell what failed", async () => {
  await using folder = await createConfigFolder(`
http:
  auth: { max_failed_attempts_before_lockout: 1000, rate_limit_max_attempts: 10000 }
audit: { file: audit.jsonl }
databases: []
`);
  await Deno.writeTextFile(`${folder.path}/users.yaml`, userFile(hashPassword(password)), { mode: 0o600 });
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { request } = createToolClient({ url: server.url });
  const logIn = async ([, username, given]: Kind) => {
    const reply = await request("tools/call", {
      name: "authenticate_user",
      arguments: { username, password: given },
    });
    assert.equal(reply.error.message, "Authentication failed");
  };
  for (const kind of kinds) await logIn(kind);
  await waitUntil("each has failed for the reason that it is meant to show", async () => {
    const lines = (await Deno.readTextFile(`${folder.path}/audit.jsonl`)).trim().split("\n");
    return lines.map((line) => JSON.parse(line).reason).join() === kinds.map(([reason]) => reason).join();
  });
  let seen: Distinction[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    seen = distinctions(await timesOfKinds(logIn));
    if (!seen.some(isTellable)) return;
  }
  assert.fail(`callers can tell failures apart: ${JSON.stringify(seen)}`);
});
