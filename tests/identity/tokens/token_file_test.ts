import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { AppError } from "../../../src/core/app_error.ts";
import { presentToken } from "../../../src/identity/presented_token.ts";
import { createTokenIndex } from "../../../src/identity/tokens/token_directory.ts";
import {
  addToken,
  listTokens,
  parseExpiry,
  readTokenFile,
  removeToken,
} from "../../../src/identity/tokens/token_file.ts";
import { parseLimits } from "../../../src/identity/tokens/limited_tokens.ts";
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

Deno.test("readTokenFile() reads what a token is limited to, as addToken() writes it", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const texts = { tools: "query_database,count_rows", pipelines: " docs ", networks: "10.0.0.0/8, ::1" };
  const { record } = await addToken({ path, ...parseLimits(texts), expiry: "never", now: 0 });
  const { records: [read], faults } = await readTokenFile(path);
  assert.deepEqual(faults, []);
  assert.deepEqual(read, record);
  assert.deepEqual(read?.limits, {
    tools: ["query_database", "count_rows"],
    pipelines: ["docs"],
    networks: ["10.0.0.0/8", "::1"],
  });
  const text = await Deno.readTextFile(path);
  assert.match(
    text,
    /tools: query_database, count_rows\n {4}pipelines: docs\n {4}networks: 10.0.0.0\/8, ::1/,
  );
});

const oneLine = "expected one or more on one line, with commas between them";
const limitFaults: [line: string, reason: string][] = [
  ["tools:", `tools: ${oneLine}`],
  ['tools: ""', `tools: ${oneLine}`],
  ["tools: [query_database]", `tools: ${oneLine}`],
  ["pipelines: docs,", `pipelines: ${oneLine}`],
  ["databases: ~", `databases: ${oneLine}`],
  ["{ database: a, databases: b }", "databases: expected none where database names one"],
  [
    "networks: 10.0.0.0/8, 10.0.0.0/33",
    'networks: expected addresses or CIDR blocks such as 10.0.0.0/8, 2001:db8::/32, not "10.0.0.0/33"',
  ],
];
for (const [line, reason] of limitFaults) {
  Deno.test(`readTokenFile() loads no token with ${line}: it would be allowed more than it is`, async () => {
    const fields = line.startsWith("{") ? line.slice(2, -2).replace(", ", "\n    ") : line;
    const { records, faults } = await read(`tokens:\n  a:\n    hash: ${hashA}\n    ${fields}\n`);
    assert.deepEqual(records, []);
    assert.match(faults[0]?.message ?? "", /^Cannot load token "a" \(PATH, line \d\): /);
    assert.deepEqual(faults.map(({ message }) => message.split("): ")[1]), [reason]);
  });
}

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
    'Cannot load token "token-1234567890" (PATH, line 8): the file has this id already',
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
    'unknown field "expire_at"; expected hash, annotation, database, tools, databases, pipelines, networks, created_at or expires_at',
  ],
  [
    "__proto__ as a field",
    `{ hash: ${hashB}, __proto__: { database: x } }`,
    2,
    'unknown field "__proto__"; expected hash, annotation, database, tools, databases, pipelines, networks, created_at or expires_at',
  ],
  ["a field twice", `{ hash: ${hashB}, hash: ${hashB} }`, 2, 'the field "hash" appears twice'],
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
  ["a hash that is there already", `{ hash: ${hashA} }`, 2, '"good" has the same hash'],
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
    'Cannot load token "__proto__" (PATH, line 3): the file has this id already',
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
  ["tokens twice", "tokens: {}\ntokens: {}\n", /^Cannot read PATH, line 2: the key "tokens" appears twice$/],
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
