import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { readTokenFile } from "../../../src/identity/tokens/token_file.ts";
import { pgedgeTokenFile } from "../pgedge_token_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const hashA = "a".repeat(64);
const hashB = "b".repeat(64);

async function read(text: string) {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, text);
  const { records, faults } = await readTokenFile(path);
  return {
    records,
    faults: faults.map((fault) => ({ ...fault, message: fault.message.replace(path, "PATH") })),
  };
}

Deno.test("readTokenFile() reads the layout of the documentation", async () => {
  const { records, faults } = await read(`tokens:
  token-1730000000:
    hash: ${hashA}
    annotation: Production API
    database: staging
    created_at: 2026-01-15T08:30:00Z
    expires_at: 2026-12-31T23:59:59Z
`);
  assert.deepEqual(faults, []);
  assert.deepEqual(records, [{
    id: "token-1730000000",
    hash: hashA,
    annotation: "Production API",
    database: "staging",
    createdAt: Date.UTC(2026, 0, 15, 8, 30),
    expiresAt: Date.UTC(2026, 11, 31, 23, 59, 59),
  }]);
});

Deno.test("readTokenFile() takes a hash alone, in capitals too: not bound, no expiry", async () => {
  const { records, faults } = await read(`tokens: { t1: { hash: ${"AB".repeat(32)} } }`);
  assert.deepEqual(faults, []);
  assert.deepEqual(records, [
    { id: "t1", hash: "ab".repeat(32), annotation: null, database: null, createdAt: null, expiresAt: null },
  ]);
});

Deno.test("readTokenFile() reads hashes, ids and names that look like numbers as text", async () => {
  const digits = "12345678".repeat(8);
  const { records } = await read(
    `tokens:\n  007: {hash: ${digits}, annotation: 1e3, database: 2024}\n  true: {hash: ${hashA}, annotation: "~"}\n`,
  );
  assert.deepEqual(records.map((r) => [r.id, r.hash, r.annotation, r.database]), [
    ["007", digits, "1e3", "2024"],
    ["true", hashA, "~", null],
  ]);
});

Deno.test("readTokenFile() loads the Go server's own file unchanged", async () => {
  const { records, faults } = await read(pgedgeTokenFile);
  assert.deepEqual(faults, []);
  assert.deepEqual(records.map((r) => [r.id, r.annotation, r.createdAt, r.expiresAt]), [
    [
      "prod-api-2024-01",
      "Production API - Team A",
      Date.UTC(2025, 0, 15, 8, 30),
      Date.UTC(2025, 11, 31, 23, 59, 59),
    ],
    ["dev-local", "Local development environment", Date.UTC(2025, 0, 10, 13, 22, 0, 123), null],
    ["analytics-service", "Analytics service", Date.UTC(2025, 1, 1, 9), Date.UTC(2025, 5, 30, 23, 59, 59)],
  ]);
});

Deno.test("readTokenFile() loads the list that the Go server's guide shows", async () => {
  const { records, faults } = await read(`tokens:
  - id: token-1234567890
    hash: b3f805a4c2e7d9f1a8b6c3e2d5f4a1b9c8e7d6f5a4b3c2e1d9f8a7b6c5e4d3f2
    note: Production API
    created_at: "2024-10-30T10:15:30Z"
    expires_at: "2025-10-30T10:15:30Z"
  - hash: ${hashA}
  - id: token-1234567890
    hash: ${hashB}
`);
  assert.deepEqual(records, [{
    id: "token-1234567890",
    hash: "b3f805a4c2e7d9f1a8b6c3e2d5f4a1b9c8e7d6f5a4b3c2e1d9f8a7b6c5e4d3f2",
    annotation: "Production API",
    database: null,
    createdAt: Date.UTC(2024, 9, 30, 10, 15, 30),
    expiresAt: Date.UTC(2025, 9, 30, 10, 15, 30),
  }]);
  assert.deepEqual(faults.map((fault) => fault.message), [
    'Cannot load token "" (PATH, line 7): expected an id',
    'Cannot load token "token-1234567890" (PATH, line 8): the id is used before in the file',
  ]);
});

const empty = [
  "",
  "# only a comment\n",
  "tokens:\n",
  "tokens: {}\n",
  "tokens: []\n",
  "---\n",
  "~\n",
  "\uFEFFtokens:\n",
];
for (const text of empty) {
  Deno.test(`readTokenFile() finds no tokens and no fault in ${JSON.stringify(text)}`, async () => {
    assert.deepEqual(await read(text), { records: [], faults: [] });
  });
}

Deno.test("readTokenFile() finds no tokens in a file that does not exist", async () => {
  await using folder = await temporaryFolder();
  assert.deepEqual(await readTokenFile(`${folder.path}/none.yaml`), { records: [], faults: [] });
});

const secret = "pst_this-must-not-be-quoted";
const badEntries: [title: string, entry: string, line: number, reason: string][] = [
  ["no hash", "{ annotation: x }", 2, "hash: expected the 64 hex digits of the token's SHA-256"],
  ["a short hash", "\n    hash: abc", 3, "hash: expected the 64 hex digits of the token's SHA-256"],
  [
    "the token in place of its hash",
    `{ hash: ${secret} }`,
    2,
    "hash: expected the 64 hex digits of the token's SHA-256",
  ],
  ["a list as hash", "{ hash: [a] }", 2, "hash: expected the 64 hex digits of the token's SHA-256"],
  [
    "a misspelt expiry",
    `\n    hash: ${hashB}\n    expire_at: 2026-01-01`,
    4,
    'unknown field "expire_at"; expected hash, annotation, database, created_at or expires_at',
  ],
  [
    "__proto__ as a field",
    `{ hash: ${hashB}, __proto__: { database: x } }`,
    2,
    'unknown field "__proto__"; expected hash, annotation, database, created_at or expires_at',
  ],
  ["a field twice", `{ hash: ${hashB}, hash: ${hashB} }`, 2, 'the field "hash" is there twice'],
  [
    "an expiry that is no time",
    `\n    hash: ${hashB}\n\n    expires_at: soon`,
    5,
    "expires_at: expected a time such as 2026-12-31T23:59:59Z, or null",
  ],
  [
    "a day that no calendar has",
    `{ hash: ${hashB}, expires_at: 2026-02-30T00:00:00Z }`,
    2,
    "expires_at: expected a time such as 2026-12-31T23:59:59Z, or null",
  ],
  [
    "an empty expiry in quotes",
    `{ hash: ${hashB}, expires_at: "" }`,
    2,
    "expires_at: expected a time such as 2026-12-31T23:59:59Z, or null",
  ],
  [
    "a mapping as creation time",
    `{ hash: ${hashB}, created_at: { a: 1 } }`,
    2,
    "created_at: expected a time such as 2026-12-31T23:59:59Z, or null",
  ],
  ["a list as database", `{ hash: ${hashB}, database: [a, b] }`, 2, "database: expected text"],
  ["nothing", "", 2, "expected a mapping of fields"],
  ["text", "yes", 2, "expected a mapping of fields"],
  ["an alias", "*good", 2, "expected a mapping of fields, not an alias"],
  ["a hash that is there already", `{ hash: ${hashA} }`, 2, 'its hash is that of "good"'],
];
for (const [title, entry, line, reason] of badEntries) {
  Deno.test(`readTokenFile() reports an entry with ${title} and loads the others`, async () => {
    const { records, faults } = await read(
      title === "a hash that is there already" || title === "an alias"
        ? `tokens: { good: &good { hash: ${hashA} },\n  bad: ${entry} }\n`
        : `tokens:\n  bad: ${entry}\n  good: { hash: ${hashA} }\n`,
    );
    assert.deepEqual(records.map((record) => record.id), ["good"]);
    assert.deepEqual(faults, [{
      entry: "bad",
      line,
      message: `Cannot load token "bad" (PATH, line ${line}): ${reason}`,
    }]);
  });
}

Deno.test("readTokenFile() keeps the first of two entries with one id, __proto__ among them", async () => {
  const { records, faults } = await read(
    `tokens:\n  __proto__: { hash: ${hashA} }\n  __proto__: { hash: ${hashB} }\n  <<: { hash: ${
      "c".repeat(64)
    } }\n`,
  );
  assert.deepEqual(records.map((r) => [r.id, r.hash]), [["__proto__", hashA], ["<<", "c".repeat(64)]]);
  assert.deepEqual(faults.map((fault) => fault.message), [
    'Cannot load token "__proto__" (PATH, line 3): the id is used before in the file',
  ]);
  assert.equal(Object.hasOwn(Object.prototype, "hash"), false);
});

Deno.test("readTokenFile() does not expand a bomb of aliases", async () => {
  let text = "tokens:\n  a0: &a0 [x, x]\n";
  for (let i = 1; i < 60; i++) text += `  a${i}: &a${i} [*a${i - 1}, *a${i - 1}]\n`;
  const { records, faults } = await read(`${text}  bad: *a59\n  good: { hash: ${hashA} }\n`);
  assert.deepEqual(records.map((record) => record.id), ["good"]);
  assert.equal(faults.length, 61);
});

const badFiles: [title: string, text: string | Uint8Array<ArrayBuffer>, message: RegExp][] = [
  ["an open bracket", "tokens:\n  a: [1\n", /^Cannot read PATH, line \d: /],
  ["a wrong indentation", "tokens:\n  a:\n    hash: x\n   database: y\n", /^Cannot read PATH, line 4: /],
  ["two documents", "tokens: {}\n---\ntokens: {}\n", /^Cannot read PATH, line 2: /],
  ["a list on top", "\n- tokens\n", /^Cannot read PATH, line 2: expected a mapping with the key "tokens"$/],
  ["text on top", "tokens\n", /^Cannot read PATH, line 1: expected a mapping with the key "tokens"$/],
  [
    "a text of tokens",
    "\n\ntokens: yes\n",
    /^Cannot read PATH, line 3: expected a mapping from id to entry under "tokens"$/,
  ],
  ["another key", "token: {}\n", /^Cannot read PATH, line 1: unknown key "token"; expected "tokens"$/],
  [
    "another key below",
    "tokens: {}\nx: 1\n",
    /^Cannot read PATH, line 2: unknown key "x"; expected "tokens"$/,
  ],
  ["no key", "{}\n", /^Cannot read PATH, line 1: the key "tokens" is missing$/],
  ["a cut key", "toke", /^Cannot read PATH, line 1: expected a mapping with the key "tokens"$/],
  ["tokens twice", "tokens: {}\ntokens: {}\n", /^Cannot read PATH, line 2: the key "tokens" is there twice$/],
  ["what is not UTF-8", new Uint8Array([0x74, 0xff, 0xfe]), /^Cannot read PATH: it is not UTF-8 text$/],
  ["a deep nest", "[".repeat(100_000), /^Cannot read PATH(: it is nested too deeply|, line 1: .*)$/],
];
for (const [title, text, message] of badFiles) {
  Deno.test(`readTokenFile() refuses a file with ${title}, naming the line`, async () => {
    await using folder = await temporaryFolder();
    const path = `${folder.path}/tokens.yaml`;
    await Deno.writeFile(path, typeof text === "string" ? new TextEncoder().encode(text) : text);
    await assert.rejects(readTokenFile(path), (error) => {
      assert.ok(error instanceof AppError);
      assert.equal(error.code, "invalid");
      assert.match(error.message.replace(path, "PATH"), message);
      return true;
    });
  });
}

Deno.test("readTokenFile() quotes nothing of a file that does not parse", async () => {
  await assert.rejects(read(`tokens:\n  a: {hash: "${secret}\n`), (error) => {
    assert.ok(error instanceof AppError);
    assert.doesNotMatch(error.message, /pst_/);
    return true;
  });
});

Deno.test("readTokenFile() refuses a folder and a pipe", async () => {
  await using folder = await temporaryFolder();
  await assert.rejects(readTokenFile(folder.path), { code: "invalid", message: /not a regular file$/ });
  const pipe = `${folder.path}/pipe`;
  const made = await new Deno.Command("mkfifo", { args: [pipe] }).output();
  assert.ok(made.success);
  await assert.rejects(readTokenFile(pipe), { code: "invalid", message: /not a regular file$/ });
});
