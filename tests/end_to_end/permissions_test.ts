import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";

const commandLineModule = new URL("../../src/cli/run_command_line.ts", import.meta.url).href;
const denoConfig = new URL("../../deno.json", import.meta.url).pathname;
const nowhere = "databases: [{ name: main, host: 127.0.0.1, port: 1, database: app, user: reader }]";

/** What the runtime itself answers when it is asked for its permissions, as the log has it. */
function permissionsIn(log: string): (string | undefined)[] {
  return /lets this process do.* allowed="([^"]*)" refused="?([a-z ]*)/.exec(log)?.slice(1) ?? [];
}

Deno.test("a server can start no program and load no library", async () => {
  await using folder = await createConfigFolder(nowhere);
  const { configFile } = folder;
  await using server = await startServer(
    ["-http", "-no-auth", "-addr", "127.0.0.1:0", "-debug", "-config", configFile],
  );
  assert.deepEqual(permissionsIn(server.stderr()), ["read write net env sys", "run ffi"]);
});

Deno.test({
  name: "of several processes the parent alone can start programs",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folder = await createConfigFolder(nowhere);
    await using server = await startServer(
      [
        "-http",
        "-no-auth",
        "-addr",
        "127.0.0.1:0",
        "-debug",
        "-processes",
        "2",
        "-config",
        folder.configFile,
      ],
    );
    await waitUntil("all serve", () => server.stderr().includes("2 processes serve"));
    const lines = server.stderr().split("\n");
    assert.deepEqual(permissionsIn(server.stderr()), ["read write net env sys run", "ffi"]);
    for (const number of [1, 2]) {
      const own = lines.filter((line) => line.includes(` process=${number} `)).join("\n");
      assert.deepEqual(permissionsIn(own), ["read write net env sys", "run ffi"]);
    }
  },
});

Deno.test("no operation but a server's start can start a program, and few load a library", async () => {
  const script = `
    const { runCommandLine } = await import(${JSON.stringify(commandLineModule)});
    const ignore = () => {};
    await runCommandLine(["-config-schema"], {}, { print: ignore, warn: ignore });
    for (const name of ["run", "ffi"]) console.log((await Deno.permissions.query({ name })).state);
  `;
  await using folder = await createConfigFolder(nowhere);
  await Deno.writeTextFile(`${folder.path}/script.ts`, script);
  const options = ["run", "--quiet", "-A", "--no-prompt", "--config", denoConfig];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...options, `${folder.path}/script.ts`],
  }).output();
  const decoder = new TextDecoder();
  assert.equal(decoder.decode(stdout), "prompt\nprompt\n", decoder.decode(stderr));
});

Deno.test("over stdio it can write no file either, unless it is configured to", async (t) => {
  const cases = [
    ["", ["read net env sys", "write run ffi"]],
    ["data_dir: data\n", ["read write net env sys", "run ffi"]],
    ["audit: { file: audit.jsonl }\n", ["read write net env sys", "run ffi"]],
  ] as const;
  for (const [settings, expected] of cases) {
    await t.step(settings.trim() || "no file in the configuration", async () => {
      await using folder = await createConfigFolder(settings + nowhere);
      const { configFile } = folder;
      // its input ends at once, and so does it
      const { code, stderr } = await runProgram(["-debug", "-config", configFile]);
      assert.deepEqual(permissionsIn(stderr), expected, stderr);
      assert.equal(code, 0, stderr);
    });
  }
});
