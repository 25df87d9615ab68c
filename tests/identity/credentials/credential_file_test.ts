import assert from "node:assert/strict";
import { appendEntry, removeEntry } from "../../../src/identity/credentials/yaml_entries.ts";
import { editCredentialFile } from "../../../src/identity/credentials/credential_file.ts";
import { readTokenFile } from "../../../src/identity/tokens/token_file.ts";
import { pgedgeTokenFile } from "../pgedge_token_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const hash = "d".repeat(64);

async function edited(before: string, edit: Parameters<typeof editCredentialFile>[1]): Promise<string> {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, before);
  await editCredentialFile(path, edit);
  const names = Array.from(Deno.readDirSync(folder.path), (entry) => entry.name);
  assert.deepEqual(names, ["tokens.yaml"], "a lock or a temporary file was left behind");
  return await Deno.readTextFile(path);
}

const add = (text: string) =>
  edited(text, (file) => appendEntry(file, "tokens", "new", { hash, expires_at: null }));

Deno.test("an edit keeps comments, order, quotes and indentation, and adds at the end", async () => {
  const after = await add(pgedgeTokenFile);
  const expected = pgedgeTokenFile.replace(
    "\n# a last word\n",
    `    new:\n        hash: ${hash}\n        expires_at: null\n\n# a last word\n`,
  );
  assert.equal(after, expected);
});

Deno.test("a removal takes the entry and the comment above it, and nothing else", async () => {
  const after = await edited(pgedgeTokenFile, (file) => removeEntry(file, "tokens", "dev-local"));
  const start = pgedgeTokenFile.indexOf("    # written by its");
  const end = pgedgeTokenFile.indexOf("\n    analytics-service");
  assert.equal(after, pgedgeTokenFile.slice(0, start - 1) + pgedgeTokenFile.slice(end));
});

Deno.test("a removal keeps what stands above the first entry, and the spacing of the others", async () => {
  const before = "tokens:\n  # about all\n  a: {hash: x}\n\n  # about b\n  b: {hash: y} # same line\n";
  assert.equal(
    await edited(before, (file) => removeEntry(file, "tokens", "a")),
    "tokens:\n  # about all\n\n  # about b\n  b: {hash: y} # same line\n",
  );
  assert.equal(
    await edited(before, (file) => removeEntry(file, "tokens", "b")),
    "tokens:\n  # about all\n  a: {hash: x}\n",
  );
});

Deno.test("an edit that is undone leaves the file as it was, byte for byte", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, pgedgeTokenFile);
  await editCredentialFile(path, (file) => appendEntry(file, "tokens", "new", { hash }));
  await editCredentialFile(path, (file) => removeEntry(file, "tokens", "new"));
  assert.equal(await Deno.readTextFile(path), pgedgeTokenFile);
});

const block = `tokens:\n  new:\n    hash: ${hash}\n    expires_at: null\n`;
const shapes: [title: string, before: string, after: string][] = [
  ["an empty file", "", block],
  ["a comment alone", "# tokens of staging\n", `# tokens of staging\n\n${block}`],
  ["no value", "tokens:\n", block],
  ["an empty mapping", "tokens: {}\n", block],
  ["an entry on one line", `tokens: { a: { hash: x } }\n`, `tokens:\n  a: { hash: x }\n${block.slice(8)}`],
  [
    "JSON",
    `{"tokens": {"a": {"hash": "x"}}}`,
    `{"tokens": {"a": {"hash": "x"}, new: {hash: ${hash}, expires_at: null}}}\n`,
  ],
  [
    "a list",
    `tokens:\n  - id: a\n`,
    `tokens:\n  - id: a\n  - id: new\n    hash: ${hash}\n    expires_at: null\n`,
  ],
  [
    "a list without indentation",
    `tokens:\n- id: a\n`,
    `tokens:\n- id: a\n- id: new\n  hash: ${hash}\n  expires_at: null\n`,
  ],
  ["line ends of Windows", `# c\r\ntokens:\r\n  a: {}\r\n`, `# c\ntokens:\n  a: {}\n${block.slice(8)}`],
];
for (const [title, before, after] of shapes) {
  Deno.test(`an entry is added to a file with ${title}`, async () => {
    assert.equal(await add(before), after);
  });
}

Deno.test("an edit that throws, and one that changes nothing, leave the file alone", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, "tokens:   {}\n");
  const before = await Deno.stat(path);
  await assert.rejects(
    editCredentialFile(path, () => {
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  await editCredentialFile(path, () => {});
  assert.equal(await Deno.readTextFile(path), "tokens:   {}\n");
  assert.equal((await Deno.stat(path)).ino, before.ino);
});

Deno.test("an edit refuses a file that does not parse and leaves it alone", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, "tokens: [\n");
  await assert.rejects(editCredentialFile(path, () => {}), { code: "invalid", message: /line \d/ });
  assert.equal(await Deno.readTextFile(path), "tokens: [\n");
});

Deno.test("an edit refuses to break an alias to what it removes", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const text = "tokens:\n  a: &a { hash: x }\n  b: *a\n";
  await Deno.writeTextFile(path, text);
  await assert.rejects(editCredentialFile(path, (file) => removeEntry(file, "tokens", "a")), {
    code: "invalid",
  });
  assert.equal(await Deno.readTextFile(path), text);
});

async function modeOf(path: string): Promise<number> {
  return ((await Deno.stat(path)).mode ?? 0) & 0o777;
}

Deno.test("a write makes a file of mode 0600 and tightens one that others can read", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await editCredentialFile(path, (file) => appendEntry(file, "tokens", "a", { hash }));
  assert.equal(await modeOf(path), 0o600);
  await Deno.chmod(path, 0o644);
  await editCredentialFile(path, (file) => appendEntry(file, "tokens", "b", { hash }));
  assert.equal(await modeOf(path), 0o600);
});

Deno.test("a write follows symbolic links to the file behind them", async () => {
  await using folder = await temporaryFolder();
  const [real, link, second] = [
    `${folder.path}/real.yaml`,
    `${folder.path}/link.yaml`,
    `${folder.path}/second.yaml`,
  ];
  await Deno.writeTextFile(real, "tokens: {}\n");
  await Deno.symlink("real.yaml", link);
  await Deno.symlink(link, second);
  await editCredentialFile(second, (file) => appendEntry(file, "tokens", "a", { hash }));
  assert.ok((await Deno.lstat(second)).isSymlink && (await Deno.lstat(link)).isSymlink);
  assert.equal((await readTokenFile(real)).records[0]?.id, "a");
});

Deno.test("a write names a missing folder, a link that leads nowhere, and a folder in the file's place", async () => {
  await using folder = await temporaryFolder();
  const edit = () => {};
  await assert.rejects(editCredentialFile(`${folder.path}/none/tokens.yaml`, edit), {
    code: "not_found",
    message: `Cannot write ${folder.path}/none/tokens.yaml: its folder does not exist`,
  });
  await Deno.symlink("nowhere.yaml", `${folder.path}/link.yaml`);
  await assert.rejects(editCredentialFile(`${folder.path}/link.yaml`, edit), {
    code: "invalid",
    message: `Cannot write ${folder.path}/link.yaml: it is a symbolic link to a file that does not exist`,
  });
  await assert.rejects(editCredentialFile(folder.path, edit), {
    code: "invalid",
    message: /not a regular file$/,
  });
});

Deno.test({
  name: "a write by root leaves the file to its owner (needs root)",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/tokens.yaml`;
    await Deno.writeTextFile(path, "");
    await Deno.chown(path, 12345, 23456);
    await editCredentialFile(path, (file) => appendEntry(file, "tokens", "a", { hash }));
    const { uid, gid } = await Deno.stat(path);
    assert.deepEqual([uid, gid, await modeOf(path)], [12345, 23456, 0o600]);
  },
});
