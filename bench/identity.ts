/**
 * What it costs to know who is calling, each as a ratio of two measurements of the same run.
 *
 *   deno run -A bench/identity.ts [during_logins] [tokens] [reload] [logins]
 */
import assert from "node:assert/strict";
import { createAuthenticator } from "../src/identity/authenticator.ts";
import { createTokenIndex } from "../src/identity/tokens/token_directory.ts";
import { hashPassword } from "../src/identity/users/password_hashing.ts";
import { createConfigFolder, startConfiguredServer } from "../tests/support/configured_server.ts";
import { runProgram, type ServerProcess, startServer } from "../tests/support/server_process.ts";
import { createToolClient } from "../tests/support/tool_client.ts";
import { waitUntil } from "../tests/support/wait_until.ts";
import { tokenFileText, tokenOf } from "./credential_texts.ts";
import { httpLoad } from "./http_load.ts";
import { median, print, quantile } from "./measure.ts";
import { call } from "./tool_calls.ts";
import { sha256 } from "../src/core/text/sha256.ts";

const seconds = Number(Deno.env.get("BENCH_SECONDS") ?? 8);
const rounds = 3;
const password = "correct horse battery";

/** A server with an account that the logins are of. */
async function startWithAccount() {
  const running = await startConfiguredServer("databases: []\n");
  const flags = ["-add-user", "-username", "alice", "-password", password];
  const { code, stderr } = await runProgram(["-config", running.folder.configFile, ...flags]);
  assert.equal(code, 0, stderr);
  const { server, token } = running;
  await waitUntil("the account is there", () => /\[AUTH\] Reloaded .*users/.test(server.stderr()));
  await logIn(server);
  return { server, token, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

async function logIn({ url }: ServerProcess): Promise<void> {
  const { text } = await createToolClient({ url }).call("authenticate_user", { username: "alice", password });
  assert.match(text, /session_token/);
}

/** Runs `work` under a light load of `tools/list`; what the requests took, in milliseconds, sorted. */
async function listTimes(
  server: ServerProcess,
  token: string,
  work: () => Promise<unknown>,
): Promise<Float64Array> {
  const ended = new AbortController();
  const load = httpLoad({
    url: `${server.url}/mcp/v1`,
    requests: [call("tools/list", {}, "query_database", token)],
    connections: 4,
    pauseMs: 5,
    signal: ended.signal,
  });
  await work();
  ended.abort();
  return (await load).times;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function duringLogins(): Promise<void> {
  await using running = await startWithAccount();
  const { server, token } = running;
  await listTimes(server, token, pause);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const alone = await listTimes(server, token, pause);
    const during = await listTimes(
      server,
      token,
      () => Promise.all(Array.from({ length: 50 }, () => logIn(server))),
    );
    const [p99Alone, p99During] = [quantile(alone, 0.99), quantile(during, 0.99)];
    ratios.push(p99During / p99Alone);
    print(
      `tools/list p99, round ${round + 1}`,
      `${p99During.toFixed(2)} ms of ${during.length} during 50 logins; alone ${p99Alone.toFixed(2)} ms`,
    );
  }
  print("tools/list p99 during 50 logins / alone (aim: under 3)", median(ratios).toFixed(2));
}

async function tokenChecks(): Promise<void> {
  const [few, many] = [authenticatorOf(10), authenticatorOf(100_000)];
  few();
  many();
  const times = Array.from({ length: 15 }, () => ({ few: few(), many: many() }));
  print(
    "a token check, in the process",
    `${median(times.map((time) => time.many)).toFixed(0)} ns of 100,000; ` +
      `${median(times.map((time) => time.few)).toFixed(0)} ns of 10`,
  );
  print(
    "checks of 100,000 tokens / of 10, in time",
    median(times.map((time) => time.many / time.few)).toFixed(2),
  );

  await using small = await startWithTokens(10);
  await using large = await startWithTokens(100_000);
  await large.requestsPerSecond();
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [ofFew, ofMany] = [await small.requestsPerSecond(), await large.requestsPerSecond()];
    ratios.push(ofMany / ofFew);
    print(`ping, round ${round + 1}`, `${ofMany.toFixed(0)}/s of 100,000; ${ofFew.toFixed(0)}/s of 10`);
  }
  print("requests with 100,000 tokens / with 10 (aim: 1)", median(ratios).toFixed(2));
}

/** Checks the same number of headers over and over, spread over so many tokens; tells the nanoseconds of each. */
function authenticatorOf(count: number): () => number {
  const checks = 20_000;
  const records = Array.from({ length: count }, (_, index) => ({
    id: `token-${index}`,
    hash: sha256(tokenOf(index)),
    annotation: null,
    database: null,
    createdAt: null,
    expiresAt: null,
  }));
  const authenticator = createAuthenticator({ tokens: createTokenIndex(records), now: Date.now });
  const headers = Array.from({ length: 10 }, (_, index) => `Bearer ${tokenOf(index * count / 10)}`);
  return () => {
    const started = performance.now();
    for (let n = 0; n < checks; n++) {
      if (authenticator.authenticate(headers[n % headers.length] ?? "") === undefined) {
        throw new Error("refused");
      }
    }
    return (performance.now() - started) * 1e6 / checks;
  };
}

async function startWithTokens(count: number) {
  const folder = await createConfigFolder("databases: []\n");
  await Deno.writeTextFile(folder.tokenFile, tokenFileText(count, "plain"), { mode: 0o600 });
  const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  return {
    requestsPerSecond: async () =>
      (await httpLoad({
        url: `${server.url}/mcp/v1`,
        requests: [call("ping", {}, '"result"', tokenOf(count - 1))],
        connections: 16,
        seconds: seconds / 2,
      })).perSecond,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function duringReload(): Promise<void> {
  await using running = await startConfiguredServer("databases: []\n");
  const { server, folder } = running;
  const loads = () => server.stderr().match(/\[AUTH\] Reloaded/g)?.length ?? 0;
  let written = loads();
  for (const entries of [1_000, 10_000]) {
    for (const layout of ["plain", "flow"] as const) {
      const text = tokenFileText(entries, layout);
      const inForceMs: number[] = [];
      const reload = async () => {
        const path = `${folder.tokenFile}.new`;
        written++;
        await Deno.writeTextFile(path, `# ${written}\n${text}`, { mode: 0o600 });
        await Deno.rename(path, folder.tokenFile);
        const startedAt = performance.now();
        await waitUntil("the file is loaded", () => loads() === written);
        inForceMs.push(performance.now() - startedAt);
      };
      await reload();
      const token = tokenOf(0);
      const alone = await listTimes(server, token, pause);
      const longest: number[] = [];
      for (let n = 0; n < 10; n++) longest.push(quantile(await listTimes(server, token, reload), 1));
      print(
        `reload of ${entries} tokens, ${layout}: longest wait (aim: 50 ms)`,
        `${Math.max(...longest).toFixed(1)} ms; of the median reload ${median(longest).toFixed(1)} ms; ` +
          `alone ${quantile(alone, 1).toFixed(1)} ms; in force after ${median(inForceMs).toFixed(0)} ms`,
      );
    }
  }
}

async function loginRatio(): Promise<void> {
  await using running = await startWithAccount();
  // as many threads as the server compares passwords on
  const threads = Math.max(1, navigator.hardwareConcurrency - 1);
  const hash = hashPassword(password);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const ours = await loginsPerSecond(running.server, threads * 2);
    const alone = await bcryptPerSecond(threads, hash);
    ratios.push(ours / alone);
    print(
      `logins, round ${round + 1}`,
      `${ours.toFixed(2)}/s; bcryptjs alone on ${threads} threads ${alone.toFixed(2)}/s`,
    );
  }
  print("logins / bcryptjs alone (aim: over 0.9)", median(ratios).toFixed(2));
}

async function loginsPerSecond(server: ServerProcess, callers: number): Promise<number> {
  const started = performance.now();
  let count = 0;
  await Promise.all(Array.from({ length: callers }, async () => {
    for (; performance.now() - started < seconds * 1000; count++) await logIn(server);
  }));
  return count * 1000 / (performance.now() - started);
}

async function bcryptPerSecond(processes: number, hash: string): Promise<number> {
  const outputs = await Promise.all(
    Array.from({ length: processes }, () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", new URL("bcrypt_alone.ts", import.meta.url).pathname, String(seconds), hash],
      }).output()),
  );
  return outputs.reduce((sum, { stdout }) => sum + Number(new TextDecoder().decode(stdout)), 0);
}

const measurements = {
  during_logins: duringLogins,
  tokens: tokenChecks,
  reload: duringReload,
  logins: loginRatio,
};
for (const [name, measure] of Object.entries(measurements)) {
  if (Deno.args.length === 0 || Deno.args.includes(name)) await measure();
}
