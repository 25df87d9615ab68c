import assert from "node:assert/strict";
import { createFileReader } from "../../../src/rag_server/ingest/read_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

Deno.test("a pipe or a device that was given to ingest is not opened", async () => {
  await using folder = await temporaryFolder();
  const pipe = `${folder.path}/pipe`;
  assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
  using reader = createFileReader({
    model: "m",
    maxTokens: 100,
    overlapTokens: 0,
    maxFileBytes: 1_000,
    readTimeoutMs: 1_000,
  });
  const signal = AbortSignal.timeout(5_000);
  for (const path of [pipe, "/dev/zero"]) {
    assert.deepEqual(await reader.read({ path, source: "given" }, undefined, signal), {
      kind: "failed",
      reason: "it is not a regular file",
    });
  }
});
