import assert from "node:assert/strict";
import { replaceFile } from "../../../src/core/files/replace_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

Deno.test("a file is replaced, not written over: who has it open reads the old one to its end", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, "the old one", { mode: 0o640 });
  using open = await Deno.open(path);
  const before = await open.stat();
  await replaceFile(path, "new");
  const after = await Deno.stat(path);
  assert.notEqual(after.ino, before.ino);
  assert.equal((after.mode ?? 0) & 0o777, 0o600);
  assert.equal(await new Response(open.readable).text(), "the old one");
  assert.equal(await Deno.readTextFile(path), "new");
  await assert.rejects(Deno.stat(`${path}.tmp`), Deno.errors.NotFound);
});

Deno.test("a reader sees the old content or the new one, never a part of one", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const texts = ["a".repeat(2_000_000), "b".repeat(1_000_000)];
  await replaceFile(path, "a");
  let isDone = false;
  const writing = (async () => {
    for (let round = 0; round < 10; round++) {
      for (const text of texts) await replaceFile(path, text);
    }
    isDone = true;
  })();
  const seen = new Set<string>();
  while (!isDone) seen.add(await Deno.readTextFile(path));
  await writing;
  for (const text of seen) assert.ok(["a", ...texts].includes(text), `${text.length} characters`);
});

Deno.test({
  name: "a file whose owner cannot be kept stays as it is (needs root on Linux)",
  ignore: Deno.uid() !== 0 || Deno.build.os !== "linux",
  fn: async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/tokens.yaml`;
    await Deno.writeTextFile(path, "old");
    await Deno.chown(path, 12345, 23456);
    const source = new URL("../../../src/core/files/replace_file.ts", import.meta.url).href;
    const [quotedSource, quotedPath] = [source, path].map((text) => JSON.stringify(text));
    const script = `
      import { replaceFile } from ${quotedSource};
      await replaceFile(${quotedPath}, "new").catch(({ code, message }) => console.log(code, message));`;
    const run = [Deno.execPath(), "run", "-A", "--quiet", "--no-check"];
    const { stdout } = await new Deno.Command("setpriv", {
      // root without the right to give files away
      args: ["--bounding-set=-chown", ...run, `data:text/javascript,${encodeURIComponent(script)}`],
      stderr: "inherit",
    }).output();
    assert.equal(
      new TextDecoder().decode(stdout).trim(),
      `forbidden Cannot write ${path}: it belongs to another user`,
    );
    assert.equal(await Deno.readTextFile(path), "old");
    await assert.rejects(Deno.stat(`${path}.tmp`), Deno.errors.NotFound);
  },
});
