import assert from "node:assert/strict";
import { join } from "node:path";
import { lookAtPaths } from "../../../src/rag_server/ingest/given_paths.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

Deno.test("lookAtPaths() takes a folder's name as it was written, and its place without links", async () => {
  await using temporary = await temporaryFolder();
  const folder = await Deno.realPath(temporary.path);
  await Deno.mkdir(join(folder, "releases/42"), { recursive: true });
  await Deno.writeTextFile(join(folder, "releases/42/a.md"), "Text.");
  await Deno.symlink(join(folder, "releases/42"), join(folder, "current"));
  await Deno.mkdir(join(folder, "links"));
  await Deno.symlink(join(folder, "current/a.md"), join(folder, "links/a.md"));
  const release = join(folder, "releases/42");
  const expected: readonly (readonly [given: string, location: string, folderName: string])[] = [
    ["releases/42", release, "42"],
    ["releases/42/", release, "42"],
    ["releases/./41/../42/.", release, "42"],
    ["current", release, "current"],
    ["current/", release, "current"],
    ["current/a.md", join(release, "a.md"), "current"],
    ["links/a.md", join(release, "a.md"), "42"],
  ];
  await Deno.mkdir(join(folder, "releases/41"));
  for (const [given, location, folderName] of expected) {
    const path = `${folder}/${given}`;
    const { given: [found] } = await lookAtPaths({ paths: [path] });
    assert.deepEqual(found, { given: path, location, folderName, isFolder: !given.endsWith(".md") });
  }
  const { given: [here] } = await lookAtPaths({ paths: ["."] });
  assert.equal(here?.folderName, Deno.cwd().split("/").at(-1));
});
