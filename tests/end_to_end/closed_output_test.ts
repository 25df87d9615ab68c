import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { command, commandLine } from "../support/server_process.ts";

Deno.test("an operation whose output nobody reads ends quietly, as one that SIGPIPE ends", async () => {
  await using folder = await createConfigFolder("");
  // the doctor finds that there is no database, and says so to nobody
  for (
    const [flag, expected] of [["-help", 141], ["-openapi", 141], ["-config-schema", 141], [
      "-list-tokens",
      141,
    ], [
      "-doctor",
      1,
    ]] as const
  ) {
    const child = command(["-config", folder.configFile, flag], { stdout: "piped", stderr: "piped" }).spawn();
    await child.stdout.cancel();
    const { code } = await child.status;
    const stderr = await new Response(child.stderr).text();
    assert.deepEqual([code, stderr], [expected, ""], flag);
  }
});

Deno.test("output that fits nowhere is an error in one line", async () => {
  const program = commandLine(["-version"]);
  const shell = new Deno.Command("sh", {
    args: ["-c", 'exec "$0" "$@" > /dev/full', program.command, ...program.args],
    stdin: "null",
    stderr: "piped",
  });
  const { code, stderr } = await shell.output();
  assert.equal(code, 1);
  assert.match(new TextDecoder().decode(stderr), /^postern: Cannot write to standard output: [^\n]+\n$/);
});
