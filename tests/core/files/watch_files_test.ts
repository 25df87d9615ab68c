import assert from "node:assert/strict";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";

/** Watches files and counts the calls. */
async function counted(...paths: string[]) {
  const files = createFileWatch({ settleMs: 10 });
  const calls: boolean[] = [];
  const watched = await files.watch({
    paths,
    onChange: ({ asked }) => Promise.resolve(void calls.push(asked)),
  });
  return { files, calls, watched, [Symbol.dispose]: () => files[Symbol.dispose]() };
}

/** Long enough for what has happened to be seen; a test that is too quick misses a fault and does not fail. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 120));

async function makePipe(path: string): Promise<void> {
  assert.ok((await new Deno.Command("mkfifo", { args: [path] }).output()).success);
}

Deno.test("what happens to other files in the folders is no change", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/a/users.yaml`;
  await Deno.mkdir(`${folder.path}/a`);
  await Deno.writeTextFile(path, "");
  await pause();
  using watch = await counted(path);
  assert.equal(watch.calls.length, 1);
  for (const neighbour of ["a/users.yaml.lock", "a/users.yaml.tmp", "a/tokens.yaml", "users.yaml", "b"]) {
    await Deno.writeTextFile(`${folder.path}/${neighbour}`, "");
    await Deno.remove(`${folder.path}/${neighbour}`);
    await Deno.readTextFile(path);
    await pause();
  }
  assert.equal(watch.calls.length, 1);
  await Deno.writeTextFile(path, "changed");
  await waitUntil("the change is seen", () => watch.calls.length === 2);
});

Deno.test("a folder that goes away and comes back is watched on", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/a/users.yaml`;
  using watch = await counted(path);
  for (let round = 0; round < 3; round++) {
    const before = watch.calls.length;
    await Deno.mkdir(`${folder.path}/a`);
    await Deno.writeTextFile(path, "");
    await waitUntil("the file is seen", () => watch.calls.length > before);
    await Deno.remove(`${folder.path}/a`, { recursive: true });
    await waitUntil("the loss is seen", () => watch.calls.length > before + 1);
  }
});

Deno.test("two files in one folder are both watched on when the folder is replaced", async () => {
  await using folder = await temporaryFolder();
  const names = ["users.yaml", "tokens.yaml"] as const;
  await Deno.mkdir(`${folder.path}/a`);
  using users = await counted(`${folder.path}/a/users.yaml`);
  using tokens = await counted(`${folder.path}/a/tokens.yaml`);
  for (let round = 0; round < 5; round++) {
    const before = [users.calls.length, tokens.calls.length] as const;
    await Deno.mkdir(`${folder.path}/new`);
    for (const name of names) await Deno.writeTextFile(`${folder.path}/new/${name}`, "");
    await Deno.rename(`${folder.path}/a`, `${folder.path}/old${round}`);
    await Deno.rename(`${folder.path}/new`, `${folder.path}/a`);
    await waitUntil("the new users are seen", () => users.calls.length > before[0]);
    await waitUntil("the new tokens are seen", () => tokens.calls.length > before[1]);
  }
});

Deno.test("a link that leads elsewhere is a change, on every step of the way; links in a circle are none", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  for (const name of ["one", "two"]) {
    await Deno.mkdir(at(`${name}/deep`), { recursive: true });
    await Deno.writeTextFile(at(`${name}/deep/file`), "");
  }
  const point = async (link: string, target: string) => {
    await Deno.symlink(target, at("new"));
    await Deno.rename(at("new"), at(link));
  };
  await point("first", "second/deep/file");
  await point("second", "third");
  await point("third", "one");
  using watch = await counted(at("first"));
  const changes: [string, string][] = [
    ["third", "two"],
    ["second", "one"],
    ["first", at("two/deep/../deep/file")],
    ["first", "first"],
    ["first", "one/deep/file"],
  ];
  for (const [link, target] of changes) {
    const before = watch.calls.length;
    await point(link, target);
    await waitUntil(`${link} is seen to lead to ${target}`, () => watch.calls.length > before);
  }
});

Deno.test("of several files the last change is told once all are left alone", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  const files = createFileWatch({ settleMs: 300 });
  using _files = files;
  const read: string[] = [];
  await files.watch({
    paths: [at("cert"), at("key")],
    onChange: async () => {
      const texts = await Promise.all(
        ["cert", "key"].map((name) => Deno.readTextFile(at(name)).catch(() => "-")),
      );
      read.push(texts.join("+"));
    },
  });
  await Deno.writeTextFile(at("cert"), "new");
  await pause();
  await Deno.writeTextFile(at("key"), "new");
  await waitUntil("the pair is read", () => read.length > 1);
  assert.deepEqual(read, ["-+-", "new+new"]);
});

Deno.test("pipes in the folders, and in the file's place, freeze nothing", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/a/users.yaml`;
  await Deno.mkdir(`${folder.path}/a`);
  await Deno.writeTextFile(path, "one");
  await makePipe(`${folder.path}/before`);
  await pause();
  using watch = await counted(path);
  await makePipe(`${folder.path}/pipe`);
  await makePipe(`${folder.path}/a/pipe`);
  await Deno.rename(`${folder.path}/a/pipe`, `${folder.path}/a/renamed`);
  await Deno.rename(`${folder.path}/a`, `${folder.path}/b`);
  await waitUntil("the loss is seen", () => watch.calls.length === 2);
  await Deno.rename(`${folder.path}/b`, `${folder.path}/a`);
  await waitUntil("the return is seen", () => watch.calls.length === 3);
  await Deno.rename(`${folder.path}/a/renamed`, path);
  await waitUntil("the pipe is seen", () => watch.calls.length === 4);
  await watch.watched.end();
});

Deno.test("lookAtAll() calls everyone and says that it was asked; during a call it is told after it", async () => {
  await using folder = await temporaryFolder();
  const files = createFileWatch({ settleMs: 10 });
  using _files = files;
  const calls: boolean[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  await files.watch({
    paths: [`${folder.path}/none`],
    onChange: async ({ asked }) => {
      calls.push(asked);
      if (calls.length === 2) await promise;
    },
  });
  files.lookAtAll();
  await waitUntil("the call has begun", () => calls.length === 2);
  files.lookAtAll();
  files.lookAtAll();
  resolve();
  await waitUntil("the second call", () => calls.length === 3);
  await pause();
  assert.deepEqual(calls, [false, true, true]);
});

Deno.test("end() waits for a call that is under way, and not for one that hangs", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/file`;
  const files = createFileWatch({ settleMs: 10 });
  using _files = files;
  const { promise, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const watched = await files.watch({
    paths: [path],
    onChange: () => ++calls === 2 ? promise : Promise.resolve(),
  });
  await Deno.writeTextFile(path, "");
  await waitUntil("the call has begun", () => calls === 2);
  await watched.end();
  resolve();
  await Deno.writeTextFile(path, "more");
  await pause();
  assert.equal(calls, 2);
});
