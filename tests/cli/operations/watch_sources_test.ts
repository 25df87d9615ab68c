import assert from "node:assert/strict";
import { join } from "node:path";
import { watchSources } from "../../../src/cli/operations/watch_sources.ts";
import { type Logger, silentLogger } from "../../../src/core/logger.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";

/** A watch over a folder, whose runs note the files that they find. */
async function startWatch(pollMs = 3_600_000) {
  const parent = await temporaryFolder();
  const folder = join(parent.path, "docs");
  await Deno.mkdir(folder);
  const runs: string[][] = [];
  const errors: string[] = [];
  const state: { fault?: Error | undefined } = {};
  const stopping = new AbortController();
  const logger: Logger = { ...silentLogger, error: (message) => errors.push(message) };
  const ended = watchSources({
    async ingestOnce() {
      const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
      runs.push(entries.map(({ name }) => name).sort());
      if (state.fault !== undefined) throw state.fault;
    },
    paths: [folder],
    pollMs,
    stopping: stopping.signal,
    logger,
    lookEveryMs: 5,
  });
  return {
    folder,
    runs,
    errors,
    state,
    write: (name: string, text = "text") => Deno.writeTextFile(join(folder, name), text),
    seen: (...names: string[]) =>
      waitUntil(`a run with ${names.length} files`, () => runs.at(-1)?.join() === names.join()),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
      await parent[Symbol.asyncDispose]();
    },
  };
}

Deno.test("watchSources() ingests again after a write, a rename into a file's place, and a removal", async () => {
  await using watch = await startWatch();
  await watch.seen();
  await watch.write("a.md");
  await watch.seen("a.md");
  const before = watch.runs.length;
  await watch.write(".a.md.swp", "other");
  await Deno.rename(join(watch.folder, ".a.md.swp"), join(watch.folder, "a.md"));
  await waitUntil("another run", () => watch.runs.length > before);
  await Deno.remove(join(watch.folder, "a.md"));
  await watch.seen();
});

Deno.test("watchSources() goes on with a folder that was removed and made again", async () => {
  await using watch = await startWatch();
  await watch.write("a.md");
  await watch.seen("a.md");
  await Deno.remove(watch.folder, { recursive: true });
  await watch.seen();
  await Deno.mkdir(watch.folder);
  await watch.write("b.md");
  await watch.seen("b.md");
});

Deno.test("watchSources() takes a burst of changes together", async () => {
  await using watch = await startWatch();
  await watch.seen();
  const names = Array.from({ length: 100 }, (_, at) => `${1_000 + at}.md`);
  for (const name of names) await watch.write(name);
  await watch.seen(...names);
  assert.ok(watch.runs.length < 50, String(watch.runs.length));
});

Deno.test("watchSources() tells an error once, tries again, and asks what is no folder as often as it is told", async () => {
  await using watch = await startWatch(1);
  watch.state.fault = new Error("the database is not there");
  const before = watch.runs.length;
  await waitUntil("some more runs", () => watch.runs.length > before + 3);
  assert.deepEqual(watch.errors, ["the database is not there"]);
  watch.state.fault = undefined;
  const failed = watch.runs.length;
  await waitUntil("it goes on", () => watch.runs.length > failed + 3);
  assert.equal(watch.errors.length, 1);
});
