import assert from "node:assert/strict";
import { readAtMost, readRegularFile } from "../../../src/core/files/read_regular_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

Deno.test("readRegularFile() and readAtMost() open no pipe, no device and no folder", async () => {
  await using folder = await temporaryFolder();
  const pipe = `${folder.path}/pipe`;
  assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
  for (const path of [pipe, "/dev/zero", folder.path]) {
    const refusal = { code: "invalid", message: `Cannot read ${path}: it is not a regular file` };
    await assert.rejects(readRegularFile(path), refusal);
    await assert.rejects(readAtMost(path, 10), refusal);
  }
  await assert.rejects(readRegularFile(`${folder.path}/none`), Deno.errors.NotFound);
});

Deno.test("readAtMost() reads a file up to its bound, and a link to one, and none that is longer", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/file`;
  await Deno.writeTextFile(path, "grün\xff");
  await Deno.symlink(path, `${folder.path}/link`);
  const bytes = new TextEncoder().encode("grün\xff");
  assert.deepEqual(await readAtMost(path, bytes.length), bytes);
  assert.deepEqual(await readAtMost(`${folder.path}/link`, bytes.length), bytes);
  assert.equal(await readAtMost(path, bytes.length - 1), undefined);
  await assert.rejects(readAtMost(path, 100, { signal: AbortSignal.abort(new Error("stopped")) }), /stopped/);
});
