import assert from "node:assert/strict";
import { presentToken } from "../../../src/identity/tokens/token_digest.ts";
import { createHash } from "node:crypto";
import { addToken, listTokens, parseExpiry, removeToken } from "../../../src/identity/tokens/tokens.ts";
import { createTokenIndex } from "../../../src/identity/tokens/token_index.ts";
import { readTokenFile } from "../../../src/identity/tokens/token_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const now = Date.UTC(2026, 0, 15, 8, 30, 0, 250);
const dayMs = 86_400_000;

Deno.test("addToken() gives a token once and keeps its SHA-256", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const { token, record } = await addToken({
    path,
    note: "CI",
    database: "staging",
    expiry: 30 * dayMs,
    now,
  });
  assert.match(token, /^pst_[A-Za-z0-9_-]{43}$/);
  assert.equal(record.id, "token-1768465800");
  const hash = createHash("sha256").update(token).digest("hex");
  assert.equal(
    await Deno.readTextFile(path),
    `tokens:
  token-1768465800:
    hash: ${hash}
    annotation: CI
    database: staging
    created_at: 2026-01-15T08:30:00Z
    expires_at: 2026-02-14T08:30:01Z
`,
  );
  const { records, faults } = await readTokenFile(path);
  assert.deepEqual({ records, faults }, { records: [record], faults: [] });
  assert.equal(createTokenIndex(records).find(presentToken(token), now)?.id, "token-1768465800");
});

Deno.test("addToken() leaves out what is not given; null means never", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const { record } = await addToken({ path, note: "", expiry: "never", now });
  assert.deepEqual([record.annotation, record.database, record.expiresAt], [null, null, null]);
  assert.doesNotMatch(await Deno.readTextFile(path), /annotation|database/);
  assert.match(await Deno.readTextFile(path), /^ {4}expires_at: null$/m);
});

Deno.test("addToken() makes different ids in one second, and different tokens", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const made = await Promise.all(Array.from({ length: 80 }, () => addToken({ path, expiry: "never", now })));
  assert.equal(new Set(made.map(({ record }) => record.id)).size, 80);
  assert.equal(new Set(made.map(({ token }) => token)).size, 80);
  assert.ok(made.every(({ record }) => /^token-\d{10}$/.test(record.id)));
  assert.equal((await readTokenFile(path)).records.length, 80);
});

const notes = [
  "null",
  "123",
  "a: b # c",
  "'\"",
  "two\nlines\n",
  " padded ",
  "é 日本 😀",
  "- x",
  "{",
  "x".repeat(500),
  "2026-01-01",
];
for (const note of notes) {
  Deno.test(`addToken() keeps the note ${JSON.stringify(note.slice(0, 20))}`, async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/tokens.yaml`;
    await addToken({ path, note, expiry: "never", now });
    await addToken({ path, note: "another", expiry: "never", now });
    const { records, faults } = await readTokenFile(path);
    assert.deepEqual(faults, []);
    assert.deepEqual(records.map((record) => record.annotation), [note, "another"]);
  });
}

const file = `tokens:
  deadbeef: { hash: ${"c".repeat(64)} }
  one: { hash: ${"aaaaaaaa1".padEnd(64, "0")} }
  two: { hash: ${"AAAAAAAA2".padEnd(64, "0")} }
  three: { hash: deadbeef${"1".repeat(56)} }
  broken: { hash: nonsense }
  "": { hash: nameless }
`;

async function remaining(idOrPrefix: string): Promise<string[]> {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, file);
  await removeToken({ path, idOrPrefix });
  return [...(await Deno.readTextFile(path)).matchAll(/^ {2}(\w+):/gm)].map((match) => match[1] ?? "");
}

const removals: [idOrPrefix: string, left: string[]][] = [
  ["one", ["deadbeef", "two", "three", "broken"]],
  ["aaaaaaaa2", ["deadbeef", "one", "three", "broken"]],
  ["AAAAAAAA1", ["deadbeef", "two", "three", "broken"]],
  ["cccccccc", ["one", "two", "three", "broken"]],
  ["deadbeef", ["one", "two", "three", "broken"]],
  ["deadbeef1", ["deadbeef", "one", "two", "broken"]],
  ["broken", ["deadbeef", "one", "two", "three"]],
];
for (const [idOrPrefix, left] of removals) {
  Deno.test(`removeToken() by ${idOrPrefix} leaves ${left.join(", ")}`, async () => {
    assert.deepEqual(await remaining(idOrPrefix), left);
  });
}

Deno.test("removeToken() refuses a prefix that fits several hashes, and names their ids", async () => {
  await assert.rejects(remaining("aaaaaaaa"), { code: "conflict", message: /\(one, two\)$/ });
});

for (
  const unknown of [
    "",
    "aaaaaaa",
    "ccccccc",
    "ffffffff",
    "nonsense",
    "__proto__",
    "ONE",
    `${"c".repeat(64)}c`,
  ]
) {
  Deno.test(`removeToken() finds nothing by ${JSON.stringify(unknown)}`, async () => {
    await assert.rejects(remaining(unknown), { code: "not_found", message: /^Cannot remove token / });
  });
}

Deno.test("removeToken() makes no file", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await assert.rejects(removeToken({ path, idOrPrefix: "x" }), { code: "not_found" });
  assert.deepEqual([...Deno.readDirSync(folder.path)], []);
});

Deno.test("removeToken() ends a token, and the last one leaves a file to add to", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const { record, token } = await addToken({ path, expiry: "never", now });
  assert.deepEqual(await removeToken({ path, idOrPrefix: record.hash.slice(0, 8) }), { id: record.id });
  assert.equal(
    createTokenIndex((await readTokenFile(path)).records).find(presentToken(token), now),
    undefined,
  );
  await addToken({ path, expiry: "never", now });
  assert.equal((await readTokenFile(path)).records.length, 1);
});

Deno.test("removeToken() removes from the list that the Go server's guide shows", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(
    path,
    `tokens:\n  - id: a\n    hash: ${"a".repeat(64)}\n  - id: b\n    hash: ${"b".repeat(64)}\n`,
  );
  await removeToken({ path, idOrPrefix: "a" });
  await addToken({ path, note: "new", expiry: "never", now });
  const { records, faults } = await readTokenFile(path);
  assert.deepEqual(faults, []);
  assert.deepEqual(records.map((record) => [record.id, record.annotation]), [["b", null], [
    "token-1768465800",
    "new",
  ]]);
});

Deno.test("listTokens() marks expired tokens and reports what does not load", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await addToken({ path, expiry: 1000, now });
  await addToken({ path, expiry: "never", now });
  await Deno.writeTextFile(path, "  broken: 1\n", { append: true });
  const { tokens, faults } = await listTokens({ path, now: now + 2000 });
  assert.deepEqual(tokens.map((token) => token.status), ["expired", "valid"]);
  assert.deepEqual(faults.map((fault) => fault.message), [
    `Cannot load token "broken" (${path}, line 10): expected a mapping of fields`,
  ]);
});

Deno.test("parseExpiry() reads durations and never", () => {
  assert.deepEqual(["30d", "1y", "2w", "12h", "1h30m", "never", undefined].map(parseExpiry), [
    30 * dayMs,
    365 * dayMs,
    14 * dayMs,
    43_200_000,
    5_400_000,
    "never",
    "never",
  ]);
  for (const text of ["", "30", "0d", "-1d", "Never", "1 d", "101y"]) {
    assert.throws(() => parseExpiry(text), { code: "invalid", message: /^Cannot read the expiry / });
  }
});
