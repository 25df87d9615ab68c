import assert from "node:assert/strict";
import { followPath } from "../../src/auth/follow_path.ts";
import { watchPath } from "../../src/auth/watch_path.ts";
import { createFolderWatch } from "../../src/auth/folder_watch.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { waitUntil } from "../support/wait_until.ts";
import { temporaryFolder } from "./temporary_folder.ts";

Deno.test("what happens to other files in the folders is no change", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/a/users.yaml`;
  await Deno.mkdir(`${folder.path}/a`);
  await Deno.writeTextFile(path, "");
  let changes = 0;
  const onChange = () => Promise.resolve(void changes++);
  await using folders = createFolderWatch({ logger: silentLogger });
  await using _watch = await watchPath({ path, onChange, folders, debounceMs: 10, pollMs: 30 });
  assert.equal(changes, 1);
  for (const neighbour of ["a/users.yaml.lock", "a/users.yaml.tmp", "a/tokens.yaml", "users.yaml", "b"]) {
    await Deno.writeTextFile(`${folder.path}/${neighbour}`, "");
    await Deno.remove(`${folder.path}/${neighbour}`);
    await Deno.readTextFile(path);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(changes, 1);
  await Deno.writeTextFile(path, "changed");
  // emptying the file and writing to it are two changes, which a busy machine may tell of one by one
  await waitUntil("the change is seen", () => changes > 1);
});

Deno.test("a watch that ends by itself is begun anew", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/a/users.yaml`;
  let changes = 0;
  const onChange = () => Promise.resolve(void changes++);
  await using folders = createFolderWatch({ logger: silentLogger });
  await using _watch = await watchPath({ path, onChange, folders, debounceMs: 10, pollMs: 20 });
  for (let round = 0; round < 3; round++) {
    const before = changes;
    await Deno.mkdir(`${folder.path}/a`);
    await Deno.writeTextFile(path, "");
    await waitUntil("the file is seen", () => changes > before);
    await Deno.remove(`${folder.path}/a`, { recursive: true });
  }
});

async function namesOnTrail(path: string): Promise<string[]> {
  const trail = await followPath(path);
  return trail.flatMap(({ entries }) => [...entries]);
}

Deno.test("followPath() names every entry on the way, those behind links too", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  await Deno.mkdir(at("real/deep"), { recursive: true });
  await Deno.symlink("real", at("link"));
  await Deno.symlink("../deep/../deep/file", at("real/deep/first"));
  const names = await namesOnTrail(at("link/deep/first"));
  const inFolder = names.filter((name) => name.startsWith(`${folder.path}/`)).map((name) =>
    name.slice(folder.path.length + 1)
  );
  assert.deepEqual(
    inFolder.toSorted(),
    ["link", "real", "real/deep", "real/deep/file", "real/deep/first"].toSorted(),
  );
  assert.equal(names[0], `/${folder.path.split("/")[1]}`);
});

Deno.test("followPath() ends where links go in a circle and where nothing is", async () => {
  await using folder = await temporaryFolder();
  await Deno.symlink("b", `${folder.path}/a`);
  await Deno.symlink("a", `${folder.path}/b`);
  const inCircle = await namesOnTrail(`${folder.path}/a/x`);
  assert.deepEqual(inCircle.slice(-2), [`${folder.path}/a`, `${folder.path}/b`]);
  const none = await followPath(`${folder.path}/none/deeper/users.yaml`);
  assert.equal(none.at(-1)?.path, folder.path);
});

Deno.test("two files in one folder are both watched on when the folder is replaced", async () => {
  await using folder = await temporaryFolder();
  const seen = { "users.yaml": 0, "tokens.yaml": 0 };
  await Deno.mkdir(`${folder.path}/a`);
  await using folders = createFolderWatch({ logger: silentLogger });
  const watchOne = (name: keyof typeof seen) =>
    watchPath({
      path: `${folder.path}/a/${name}`,
      onChange: () => Promise.resolve(void seen[name]++),
      folders,
      debounceMs: 10,
      pollMs: 3_600_000,
    });
  await using _users = await watchOne("users.yaml");
  await using _tokens = await watchOne("tokens.yaml");
  for (let round = 0; round < 5; round++) {
    await Deno.mkdir(`${folder.path}/new`);
    await Deno.rename(`${folder.path}/a`, `${folder.path}/old${round}`);
    await Deno.rename(`${folder.path}/new`, `${folder.path}/a`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const name of ["users.yaml", "tokens.yaml"] as const) {
      const before = seen[name];
      await Deno.writeTextFile(`${folder.path}/a/${name}`, "");
      await waitUntil(`the new ${name} is seen`, () => seen[name] > before);
    }
  }
});
