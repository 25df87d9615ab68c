import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

Deno.test("a start leaves nothing in the temporary folder, from where the next one would take it", async () => {
  await using temporary = await temporaryFolder();
  await using folder = await createConfigFolder("databases: []\n");
  for (const args of [["-help"], ["-config", folder.configFile]]) {
    const { code, stderr } = await runProgram(args, { TMPDIR: temporary.path });
    assert.equal(code, 0, stderr);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(temporary.path)), []);
  }
});
