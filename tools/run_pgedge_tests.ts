/**
 * Runs the integration tests of pgEdge's server in Go against Postern's executable, and tells which fail that should not:
 *
 *   TEST_DATABASE_URL=postgres://… deno run -A tools/run_pgedge_tests.ts CHECKOUT EXECUTABLE
 *
 * CHECKOUT is a copy of their public source outside of this tree, made by its user; it needs Go. Nothing in it changes but
 * `bin/`, where those tests look for the program.
 */
import { join, resolve } from "node:path";

/** Those that fail on purpose, each with what it wants and why Postern does otherwise. */
const differences: Readonly<Record<string, string>> = {
  "TestMCPServerIntegration/Initialize":
    "the server's name is `pgedge-postgres-mcp` there, and `postern` here",
  "TestMCPServerIntegration/ListTools":
    "exactly 7 tools, generate_embedding without a provider among them; Postern lists more, and those that can work",
  "TestMCPServerIntegration/CallGetSchemaInfo":
    "sentences of theirs in an empty database; Postern says in its own that there is no table",
  "TestHTTPModeIntegration/ListResources": "exactly 1 resource; Postern has those of schemas too",
};

const [checkout, executable] = Deno.args;
const connection = Deno.env.get("TEST_DATABASE_URL");
if (checkout === undefined || executable === undefined || connection === undefined) {
  say(
    "usage: TEST_DATABASE_URL=postgres://… deno run -A tools/run_pgedge_tests.ts CHECKOUT EXECUTABLE",
  );
  Deno.exit(2);
}

const program = join(checkout, "bin", "pgedge-postgres-mcp");
await Deno.mkdir(join(checkout, "bin"), { recursive: true });
await Deno.remove(program).catch(() => {});
await Deno.symlink(resolve(executable), program);
const { stdout } = await new Deno.Command("go", {
  args: ["test", "-count=1", "-timeout=300s", "-json", "./test/..."],
  cwd: checkout,
  env: { TEST_PGEDGE_POSTGRES_CONNECTION_STRING: `${connection}?sslmode=disable` },
  stderr: "inherit",
}).output();

const results = readResults(new TextDecoder().decode(stdout));
const failed = [...results].filter(([, result]) => result === "fail").map(([test]) => test);
const unexpected = failed.filter((test) => !Object.hasOwn(differences, test));
const mended = Object.keys(differences).filter((test) => results.get(test) === "pass");
const passed = [...results.values()].filter((result) => result === "pass").length;
say(`${passed} of ${results.size} pass; ${failed.length} fail:`);
for (const test of failed) say(`  ${test}: ${differences[test] ?? "NOT EXPECTED"}`);
for (const test of mended) say(`  ${test} passes, and is listed as different: take it off the list`);
if (results.size === 0 || unexpected.length > 0 || mended.length > 0) Deno.exit(1);

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

/** How each test without tests of its own ended, by its name; those that were skipped are left out. */
function readResults(lines: string): Map<string, "pass" | "fail"> {
  const ended = lines.split("\n").filter((line) => line.startsWith("{")).map((line) =>
    JSON.parse(line) as { readonly Action: string; readonly Test?: string }
  );
  const names = ended.flatMap(({ Test }) => Test ?? []);
  const parents = new Set(names.map((name) => name.split("/").slice(0, -1).join("/")));
  return new Map(
    ended.flatMap(({ Action, Test }) =>
      Test !== undefined && (Action === "pass" || Action === "fail") && !parents.has(Test)
        ? [[Test, Action] as const]
        : []
    ),
  );
}
