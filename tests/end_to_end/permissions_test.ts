import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";

const nowhere = "databases: [{ name: main, host: 127.0.0.1, port: 1, database: app, user: reader }]";

/** What the runtime itself answers when it is asked for its permissions, as the log has it. */
function permissionsIn(log: string): (string | undefined)[] {
  return /lets this process do allowed="([^"]*)" refused="([^"]*)"/.exec(log)?.slice(1) ?? [];
}

Deno.test("a server can start no program and load no library", async () => {
  await using folder = await createConfigFolder(nowhere);
  const { configFile } = folder;
  await using server = await startServer(
    ["-http", "-no-auth", "-addr", "127.0.0.1:0", "-debug", "-config", configFile],
  );
  assert.deepEqual(permissionsIn(server.stderr()), ["read write net env sys", "run ffi"]);
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
