import assert from "node:assert/strict";
import {
  createCredentialWatcher,
  type CredentialWatcher,
  type CredentialWatcherOptions,
} from "../../../src/identity/credentials/credential_watcher.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { replaceFile } from "../../../src/core/files/replace_file.ts";
import { AppError } from "../../../src/core/app_error.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

interface Watched extends AsyncDisposable {
  path: string;
  watcher: CredentialWatcher;
  /** What was loaded, and the log's lines from "[AUTH]" on. */
  reloads: string[];
  lines: string[];
  reasons: string[];
  /** Waits for one more line and what comes with it. */
  nextLine(): Promise<string>;
  /** Waits until everything that has happened so far would have been seen. */
  settle(): Promise<void>;
}

/** A watcher over a file; a text with "broken" in it does not load. */
async function watched(
  path: string,
  options: Partial<CredentialWatcherOptions<string>> & { text?: string | undefined; settleMs?: number } = {
    text: "one",
  },
): Promise<Watched> {
  if (options.text !== undefined) await Deno.writeTextFile(path, options.text);
  const [reloads, lines, reasons]: [string[], string[], string[]] = [[], [], []];
  let loads = 0;
  const logger = createLogger({
    level: "info",
    format: "text",
    write: (line) => void lines.push(line.slice(line.indexOf(" ") + 1).trimEnd()),
  });
  const files = createFileWatch(options.settleMs === undefined ? {} : { settleMs: options.settleMs });
  const watcher = await createCredentialWatcher<string>({
    path,
    files,
    logger,
    ...(options.text === undefined ? {} : { loaded: options.text }),
    load({ path, text }) {
      loads++;
      if (text.includes("broken")) {
        throw new AppError("invalid", `Cannot read ${path}, line 3: a bracket is missing`);
      }
      return text;
    },
    onReload: (data) => void reloads.push(data),
    onError: (reason) => void reasons.push(reason),
    ...options,
  });
  let expected = 0;
  return {
    path,
    watcher,
    reloads,
    lines,
    reasons,
    async nextLine() {
      const index = expected++;
      await waitUntil("one more line", () => lines.length > index);
      return lines[index] ?? "";
    },
    async settle() {
      await pause();
      // one change more, after which those before have been seen
      const marker = `marker ${loads} ${Math.random()}`;
      await Deno.writeTextFile(path, marker);
      await waitUntil("the marker is loaded", () => reloads.includes(marker));
      reloads.splice(reloads.indexOf(marker), 1);
      lines.splice(lines.findLastIndex((line) => line.includes("Reloaded")), 1);
    },
    async [Symbol.asyncDispose]() {
      await watcher.close();
      files[Symbol.dispose]();
    },
  };
}

/** Long enough for what has happened to be seen; a test that is too quick misses a fault and does not fail. */
const pause = (ms = 100) => new Promise((resolve) => setTimeout(resolve, ms));

const reloaded = (path: string) => `INFO  [AUTH] Reloaded ${path}`;
const failed = (path: string, reason: string) => `ERROR [AUTH] Failed to reload ${path}: ${reason}`;
const missing = "the file does not exist";

/** Ways in which a new text gets into a file's place. */
const saves: Record<string, (path: string, text: string) => Promise<void>> = {
  "a write in place": (path, text) => Deno.writeTextFile(path, text),
  "our own replacement": replaceFile,
  async "a rename over it"(path, text) {
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
  },
  async "a deletion and a new file"(path, text) {
    await Deno.remove(path);
    await Deno.writeTextFile(path, text);
  },
  async "an editor that keeps a backup"(path, text) {
    await Deno.writeTextFile(`${path.replace(/[^/]+$/, "")}4913`, "");
    await Deno.remove(`${path.replace(/[^/]+$/, "")}4913`);
    await Deno.rename(path, `${path}~`);
    await Deno.writeTextFile(path, text);
    await Deno.remove(`${path}~`);
  },
  async "a link in its place"(path, text) {
    await Deno.writeTextFile(`${path}.real`, text);
    await Deno.symlink(`${path}.real`, `${path}.link`);
    await Deno.rename(`${path}.link`, path);
  },
  async "a file moved in from another folder"(path, text) {
    const elsewhere = await Deno.makeTempFile();
    await Deno.writeTextFile(elsewhere, text);
    await Deno.rename(elsewhere, path);
  },
};
for (const [title, save] of Object.entries(saves)) {
  Deno.test(`${title} is loaded, again and again`, async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/users.yaml`;
    await using file = await watched(path);
    for (const text of ["two", "three", "four"]) {
      // each of them finds a plain file
      if (title === "a link in its place") await Deno.remove(`${path}.real`).catch(() => {});
      await save(path, text);
      assert.equal(await file.nextLine(), reloaded(path));
      assert.equal(file.reloads.at(-1), text);
    }
    assert.deepEqual(file.reloads, ["two", "three", "four"]);
  });
}

Deno.test("a mounted secret is loaded when its folder's link is swapped, and when the file itself is written", async () => {
  await using folder = await temporaryFolder();
  const mount = `${folder.path}/mount`;
  const write = async (version: string, text: string) => {
    await Deno.mkdir(`${mount}/..${version}`, { recursive: true });
    await Deno.writeTextFile(`${mount}/..${version}/users.yaml`, text);
    await Deno.symlink(`..${version}`, `${mount}/..data_tmp`);
    await Deno.rename(`${mount}/..data_tmp`, `${mount}/..data`);
  };
  await write("v1", "one");
  await Deno.symlink("..data/users.yaml", `${mount}/users.yaml`);
  const path = `${mount}/users.yaml`;
  await using file = await watched(path, { loaded: "one" });
  for (const [version, text] of [["v2", "two"], ["v3", "three"], ["v4", "four"]] as const) {
    await write(version, text);
    assert.equal(await file.nextLine(), reloaded(path));
    assert.equal(file.reloads.at(-1), text);
  }
  await Deno.writeTextFile(`${mount}/..v4/users.yaml`, "five");
  assert.equal(await file.nextLine(), reloaded(path));
  assert.deepEqual(file.reloads, ["two", "three", "four", "five"]);
});

Deno.test("links from folder to folder are followed to the end, a link in the middle too", async () => {
  await using folder = await temporaryFolder();
  const at = (name: string) => `${folder.path}/${name}`;
  for (const name of ["a", "b", "c1", "c2"]) await Deno.mkdir(at(name));
  await Deno.writeTextFile(at("c1/real.yaml"), "one");
  await Deno.writeTextFile(at("c2/real.yaml"), "two");
  await Deno.symlink("c1", at("c"));
  await Deno.symlink("../c/real.yaml", at("b/users.yaml"));
  await Deno.symlink(at("b/users.yaml"), at("a/users.yaml"));
  await using file = await watched(at("a/users.yaml"), { loaded: "one" });
  await Deno.symlink("c2", at("c_new"));
  await Deno.rename(at("c_new"), at("c"));
  await file.nextLine();
  await Deno.writeTextFile(at("c2/real.yaml"), "three");
  await file.nextLine();
  await Deno.remove(at("b/users.yaml"));
  await Deno.writeTextFile(at("b/users.yaml"), "four");
  await file.nextLine();
  assert.deepEqual(file.reloads, ["two", "three", "four"]);
});

Deno.test("the folder may be replaced by another, and its folder too", async () => {
  await using folder = await temporaryFolder();
  await Deno.mkdir(`${folder.path}/a/b`, { recursive: true });
  const path = `${folder.path}/a/b/users.yaml`;
  await using file = await watched(path);
  await Deno.rename(`${folder.path}/a/b`, `${folder.path}/a/old`);
  assert.equal(await file.nextLine(), failed(path, missing));
  await Deno.mkdir(`${folder.path}/a/b`);
  await Deno.writeTextFile(path, "two");
  assert.equal(await file.nextLine(), reloaded(path));
  await Deno.writeTextFile(path, "three");
  assert.equal(await file.nextLine(), reloaded(path));
  await Deno.mkdir(`${folder.path}/new/b`, { recursive: true });
  await Deno.writeTextFile(`${folder.path}/new/b/users.yaml`, "four");
  await Deno.rename(`${folder.path}/a`, `${folder.path}/old`);
  await Deno.rename(`${folder.path}/new`, `${folder.path}/a`);
  await waitUntil("the new folder's file is loaded", () => file.reloads.at(-1) === "four");
  await Deno.writeTextFile(path, "five");
  await waitUntil("a write in the new folder is loaded", () => file.reloads.at(-1) === "five");
});

Deno.test("rapid changes are one reload of the last", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`, { text: "one", settleMs: 400 });
  for (let i = 0; i < 50; i++) {
    await Deno.writeTextFile(file.path, `text ${i}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await file.nextLine();
  assert.deepEqual(file.reloads, ["text 49"]);
});

Deno.test("a file that never comes to rest is loaded all the same", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`, { text: "one", settleMs: 100 });
  await waitUntil("a reload between writes", async () => {
    await Deno.writeTextFile(file.path, `text ${Math.random()}`);
    return file.reloads.length > 0;
  });
});

Deno.test("a broken file leaves the old data and says why, once; the next good one is loaded", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  const { path } = file;
  await Deno.writeTextFile(path, "broken");
  assert.equal(await file.nextLine(), failed(path, "line 3: a bracket is missing"));
  await Deno.writeTextFile(path, "broken otherwise");
  assert.equal(await file.nextLine(), failed(path, "line 3: a bracket is missing"));
  await Deno.writeTextFile(path, "broken otherwise");
  await pause();
  await Deno.writeTextFile(path, "two");
  assert.equal(await file.nextLine(), reloaded(path));
  assert.deepEqual(file.reloads, ["two"]);
  assert.deepEqual(file.reasons, Array(2).fill("line 3: a bracket is missing"));
  assert.equal(file.lines.length, 3);
});

Deno.test("what is no text and what is no file leave the old data", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  const { path } = file;
  await Deno.writeFile(path, new Uint8Array([0xff, 0xfe, 0x00]));
  assert.equal(await file.nextLine(), failed(path, "it is not UTF-8 text"));
  await Deno.remove(path);
  await Deno.mkdir(path);
  let line = await file.nextLine();
  if (line === failed(path, missing)) line = await file.nextLine();
  assert.equal(line, failed(path, "it is not a regular file"));
  await Deno.remove(path);
  await Deno.writeTextFile(path, "two");
  await waitUntil("the file is loaded", () => file.reloads.length > 0);
  assert.deepEqual(file.reloads, ["two"]);
});

Deno.test("a fault in the loader is named without the text that it quotes", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`, {
    text: "one",
    load: ({ text }) => {
      throw new Error(`unexpected ${text}`);
    },
  });
  await Deno.writeTextFile(file.path, "secret");
  assert.equal(await file.nextLine(), failed(file.path, "an unexpected fault in the server"));
  assert.equal(file.lines.length, 1);
});

Deno.test("a deleted file leaves the old data and says so, once; back again, it is loaded, though it is the same", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  const { path } = file;
  for (let round = 0; round < 3; round++) {
    await Deno.remove(path);
    assert.equal(await file.nextLine(), failed(path, missing));
    await Deno.writeTextFile(`${path}.tmp`, "");
    await Deno.writeTextFile(path, "one");
    assert.equal(await file.nextLine(), reloaded(path));
  }
  assert.deepEqual(file.reloads, ["one", "one", "one"]);
});

Deno.test("a file that was never there is no failure, and is loaded when it comes", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/not/yet/users.yaml`;
  await using file = await watched(path, { text: undefined });
  await Deno.mkdir(`${folder.path}/not/yet`, { recursive: true });
  await Deno.writeTextFile(path, "one");
  assert.equal(await file.nextLine(), reloaded(path));
  assert.deepEqual([file.reloads, file.lines.length], [["one"], 1]);
});

Deno.test("what changed before the watch began is loaded at once", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  await Deno.writeTextFile(path, "two");
  await using file = await watched(path, { loaded: "one" });
  assert.deepEqual([file.reloads, file.lines], [["two"], [reloaded(path)]]);
});

Deno.test("the same content, a lock, a temporary file and a neighbour are no change", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  const { path } = file;
  await Deno.writeTextFile(path, "one");
  await replaceFile(path, "one");
  await Deno.writeTextFile(`${path}.lock`, "broken");
  await Deno.writeTextFile(`${path}.tmp`, "broken");
  await Deno.writeTextFile(`${folder.path}/tokens.yaml`, "broken");
  await Deno.remove(`${path}.lock`);
  await file.settle();
  assert.deepEqual([file.reloads, file.lines], [[], []]);
});

Deno.test("what the server writes itself is not loaded", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  let before = "one";
  for (let i = 0; i < 30; i++) {
    const after = `own ${i}`;
    file.watcher.expectWrite(before, after);
    await replaceFile(file.path, after);
    before = after;
    if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await file.settle();
  assert.deepEqual([file.reloads, file.lines], [[], []]);
});

Deno.test("the first file, made by the server itself, is not loaded", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  await using file = await watched(path, { text: undefined });
  file.watcher.expectWrite(undefined, "own");
  await replaceFile(path, "own");
  await file.settle();
  assert.deepEqual(file.reloads, []);
});

Deno.test("another's change under the server's own write is loaded, and so is a return to an older content", async () => {
  await using folder = await temporaryFolder();
  await using file = await watched(`${folder.path}/users.yaml`);
  const { path, watcher } = file;
  await replaceFile(path, "one, another's");
  watcher.expectWrite("one, another's", "one, another's, own");
  await replaceFile(path, "one, another's, own");
  await file.nextLine();
  assert.deepEqual(file.reloads, ["one, another's, own"]);

  watcher.expectWrite("one, another's, own", "own again");
  await replaceFile(path, "own again");
  // unseen, it would leave no trace: what follows is the content that is loaded
  await pause(500);
  await replaceFile(path, "one, another's, own");
  await waitUntil("the older content is loaded", () => file.reloads.length === 2);
});

Deno.test("a write under another of the file's names is loaded", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  await using file = await watched(path, { text: "one" });
  const link = `${folder.path}/hard.yaml`;
  await Deno.link(path, link);
  await Deno.writeTextFile(link, "two, longer");
  await file.nextLine();
  assert.deepEqual(file.reloads, ["two, longer"]);
});

Deno.test("nothing is loaded after close(), not even what was being loaded", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  const { promise: mayLoad, resolve: goOn } = Promise.withResolvers<void>();
  let loading = false;
  await using file = await watched(path, {
    text: "one",
    load: async ({ text }) => {
      loading = true;
      await mayLoad;
      return text;
    },
  });
  await Deno.writeTextFile(path, "two");
  await waitUntil("the load has begun", () => loading);
  const closed = file.watcher.close();
  goOn();
  await closed;
  await Deno.writeTextFile(path, "three");
  assert.deepEqual([file.reloads, file.lines], [[], []]);
});

Deno.test("changes during a slow load are loaded after it", async () => {
  await using folder = await temporaryFolder();
  let loads = 0;
  await using file = await watched(`${folder.path}/users.yaml`, {
    text: "one",
    load: async ({ path, text }) => {
      if (++loads === 1) {
        await Deno.writeTextFile(path, "three");
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      return text;
    },
  });
  await Deno.writeTextFile(file.path, "two");
  await file.nextLine();
  await file.nextLine();
  assert.deepEqual(file.reloads, ["two", "three"]);
});
