import assert from "node:assert/strict";
import { openTokenDirectory } from "../../../src/identity/tokens/token_directory.ts";
import { readRecords } from "../../../src/identity/credentials/read_records.ts";
import { addToken, removeToken, tokenKind } from "../../../src/identity/tokens/token_file.ts";
import { openUserDirectory } from "../../../src/identity/users/user_directory.ts";
import { addUser, userKind } from "../../../src/identity/users/user_file.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const now = Date.UTC(2026, 0, 15, 8, 30);
const hash = (digit: string) => digit.repeat(64);
const token = (id: string, digit: string) =>
  `  ${id}:\n    hash: ${hash(digit)}\n    annotation: Production\n    database: staging\n` +
  "    created_at: 2026-01-15T08:30:00Z\n    expires_at: 2026-12-31T23:59:59Z\n";
const tokens = `# of staging\ntokens:\n${token("one", "a")}${token("two", "b")}${token("three", "c")}`;
const bcrypt = `$2b$12$${"a".repeat(53)}`;
const user = (name: string) =>
  `  ${name}:\n    username: ${name}\n    password_hash: ${bcrypt}\n    annotation: ""\n` +
  "    created_at: 2026-01-15T08:30:00Z\n    last_login: null\n    enabled: false\n    failed_attempts: 12\n" +
  "    disabled_reason: administrator\n";
const users = `users:\n${user("alice")}${user("bob")}`;

/** The tokens of a running server, and what becomes of them when the file has another text. */
async function runningTokens(text: string) {
  const folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  await Deno.writeTextFile(path, text);
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) });
  const directory = await openTokenDirectory({ path, now: () => now, logger });
  return {
    path,
    lines,
    directory,
    read: (text: string) => directory.read({ path, text }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const damaged: [title: string, text: string, reason: RegExp][] = [
  [
    "an empty file",
    "",
    /: it has no tokens any more, so the old ones \(3\) stay valid; .*"tokens: {}" .*to revoke all$/,
  ],
  ["blanks", "\n  \n", /: it has no tokens any more/],
  ["comments alone", "# of staging\n", /: it has no tokens any more/],
  ["a cut behind the key", "# of staging\ntokens:", /: it has no tokens any more/],
  ["null", "tokens: null\n", /: it has no tokens any more/],
  ["a tilde", "tokens: ~\n", /: it has no tokens any more/],
  ["a document without content", "---\n", /: it has no tokens any more/],
  ["a byte order mark alone", "\uFEFF", /: it has no tokens any more/],
  ["a cut inside of the key", "# of staging\ntok", /line 2: expected a mapping with the key "tokens"$/],
  [
    "a misspelled key",
    tokens.replace("tokens:", "token:"),
    /line 2: unknown key "token"; expected "tokens"$/,
  ],
  ["a key in capitals", tokens.replace("tokens:", "Tokens:"), /line 2: unknown key "Tokens"/],
  ["a second key", `${tokens}extra: 1\n`, /line \d+: unknown key "extra"/],
  ["the key twice", `${tokens}tokens: {}\n`, /line \d+: the key "tokens" appears twice$/],
  ["users", users, /line 1: unknown key "users"; expected "tokens"$/],
  ["an empty mapping", "{}\n", /line 1: the key "tokens" is missing$/],
  ["a text", "tokens: none\n", /line 1: expected a mapping from id to entry under "tokens"$/],
  [
    "a half entry in a file that had more",
    tokens.slice(0, tokens.indexOf("bbbb") + 10),
    /line 10: "two" is faulty and "two" and 1 more would be lost, so the file may be cut off; .*64 hex digits/,
  ],
  [
    "an entry's key alone",
    tokens.slice(0, tokens.indexOf("  three:") + 8),
    /line 15: "three" is faulty and "three" would/,
  ],
  [
    "an entry without what limits it",
    tokens.slice(0, tokens.lastIndexOf("    expires_at")),
    /line 15: the last entry, "three", has lost its expires_at, so the file may be cut/,
  ],
  [
    "half a value",
    tokens.slice(0, tokens.lastIndexOf("T23:59")),
    /line 15: the last entry, "three", has changed and its last line has no line break/,
  ],
];
for (const [title, text, reason] of damaged) {
  Deno.test(`a running server keeps its tokens when the file is damaged: ${title}`, async () => {
    await using running = await runningTokens(tokens);
    await assert.rejects(running.read(text), { name: "AppError", code: "invalid", message: reason });
    assert.equal(running.directory.size, 3);
  });
}

Deno.test("a file of tokens or users that is cut anywhere is refused, or has lost whole entries alone", async () => {
  await using running = await runningTokens(tokens);
  const whole = (await readRecords(tokenKind, { path: "", text: tokens })).records.map((record) =>
    JSON.stringify(record)
  );
  const wholeUsers = (await readRecords(userKind, { path: "", text: users })).records.map((record) =>
    JSON.stringify(record)
  );
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  const results = { refused: 0, taken: 0 };
  for (let end = 0; end < tokens.length; end++) {
    const read = await running.read(tokens.slice(0, end)).catch(() => undefined);
    for (const record of read?.records ?? []) {
      assert.ok(whole.includes(JSON.stringify(record)), `cut at ${end}`);
    }
    results[read === undefined ? "refused" : "taken"]++;
  }
  assert.ok(results.taken < 30, JSON.stringify(results));
  for (let end = 0; end < users.length; end += 3) {
    await Deno.writeTextFile(path, users);
    await using directory = await openUserDirectory({
      path,
      maxFailedAttempts: 0,
      now: () => now,
      logger: createLogger({ level: "error", format: "text", write: () => {} }),
    });
    await Deno.writeTextFile(path, users.slice(0, end));
    await directory.reload().catch(() => {});
    for (const name of ["alice", "bob"]) {
      const record = directory.find(name);
      const { disabledReason: _, ...rest } = JSON.parse(JSON.stringify(record ?? {}));
      // why an account is disabled limits nothing
      const known = wholeUsers.map((text) => {
        const { disabledReason: _, ...rest } = JSON.parse(text);
        return JSON.stringify(rest);
      });
      if (record !== undefined) assert.ok(known.includes(JSON.stringify(rest)), `cut at ${end}`);
    }
  }
});

const changed: [title: string, text: string, left: number][] = [
  ["an explicit end of all", "tokens: {}\n", 0],
  ["an empty list", "tokens: []\n", 0],
  ["an entry taken out", `tokens:\n${token("one", "a")}${token("three", "c")}`, 2],
  ["a new one that is faulty", `${tokens}  new: {}\n`, 3],
  ["a limit that is said to be gone", tokens.replace(/expires_at: [^\n]+\n$/, "expires_at: null\n"), 3],
  ["JSON without a line end", `{"tokens": {"one": {"hash": "${hash("a")}"}}}`, 1],
];
for (const [title, text, left] of changed) {
  Deno.test(`a running server takes in ${title}`, async () => {
    await using running = await runningTokens(tokens);
    if (title.startsWith("JSON")) {
      await assert.rejects(running.read(text), /has lost its database/);
      return;
    }
    running.directory.adopt(await running.read(text));
    assert.equal(running.directory.size, left);
  });
}

Deno.test("an entry that was faulty before keeps no other from being taken out", async () => {
  await using running = await runningTokens(`tokens:\n  bad: {}\n${token("one", "a")}${token("two", "b")}`);
  running.directory.adopt(await running.read(`tokens:\n  bad: {}\n${token("one", "a")}`));
  assert.equal(running.directory.size, 1);
});

Deno.test("a server starts with an empty file and warns, and not with a misspelled key", async () => {
  for (const text of ["", "# none yet\n", "tokens:\n"]) {
    await using running = await runningTokens(text);
    assert.equal(running.lines.length, 1);
    assert.match(
      running.lines[0] ?? "",
      /WARN {2}\S+ has no tokens; if that is intended, write "tokens: {}" into it/,
    );
    running.directory.adopt(await running.read(tokens));
    assert.equal(running.directory.size, 3);
  }
  await using meant = await runningTokens("tokens: {}\n");
  assert.deepEqual(meant.lines, []);
  await assert.rejects(runningTokens("token: {}\n"), { code: "invalid", message: /unknown key "token"/ });
});

Deno.test("nothing is added to a file that looks damaged, and what is there stays", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/file.yaml`;
  const refused: [text: string, reason: RegExp][] = [
    [
      "",
      /: it has no tokens, and may have been emptied by mistake; restore it, or write "tokens: {}" into it first$/,
    ],
    ["tokens:\n", /has no tokens/],
    ["# none\n", /has no tokens/],
    ["token: {}\n", /line 1: unknown key "token"; expected "tokens"/],
    [
      tokens.slice(0, tokens.indexOf("cccc") + 10),
      /its last entry is faulty, so the file may be cut off; correct the entry first/,
    ],
  ];
  for (const [text, reason] of refused) {
    await Deno.writeTextFile(path, text);
    await assert.rejects(addToken({ path, expiry: "never", now }), { code: "invalid", message: reason });
    assert.equal(await Deno.readTextFile(path), text);
  }
  for (const text of ["", "users:\n", "user: {}\n", users.slice(0, users.indexOf("password_hash"))]) {
    await Deno.writeTextFile(path, text);
    await assert.rejects(addUser({ path, username: "eve", password: "correct horse", now }), {
      code: "invalid",
    });
    assert.equal(await Deno.readTextFile(path), text);
  }
  // the half entry can be taken out
  await Deno.writeTextFile(path, tokens.slice(0, tokens.indexOf("cccc") + 10));
  await removeToken({ path, idOrPrefix: "three" });
  await addToken({ path, expiry: "never", now });
});

Deno.test("taking out the last token leaves a file that says so", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  const { record } = await addToken({ path, expiry: "never", now });
  await removeToken({ path, idOrPrefix: record.id });
  assert.match(await Deno.readTextFile(path), /^tokens: *\{\}\n$/);
  await addToken({ path, expiry: "never", now });
});
