import assert from "node:assert/strict";
import { readUserFile } from "../../../src/identity/users/user_file.ts";
import { pgedgeUserFile } from "../pgedge_user_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const hash = `$2b$12$${"a".repeat(53)}`;

async function read(text: string) {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  await Deno.writeTextFile(path, text);
  const { records, faults } = await readUserFile(path);
  return {
    records,
    faults: faults.map((fault) => ({ ...fault, message: fault.message.replace(path, "PATH") })),
  };
}

Deno.test("readUserFile() reads the layout of the documentation", async () => {
  const { records, faults } = await read(`users:
  alice:
    username: alice
    password_hash: ${hash}
    annotation: Developer
    created_at: 2026-01-15T08:30:00Z
    last_login: null
    enabled: false
    failed_attempts: 5
    disabled_reason: lockout
`);
  assert.deepEqual(faults, []);
  assert.deepEqual(records, [{
    username: "alice",
    passwordHash: hash,
    annotation: "Developer",
    createdAt: Date.UTC(2026, 0, 15, 8, 30),
    lastLogin: null,
    enabled: false,
    failedAttempts: 5,
    disabledReason: "lockout",
  }]);
});

Deno.test("readUserFile() loads the Go server's own file unchanged", async () => {
  const { records, faults } = await read(pgedgeUserFile);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    records.map((
      r,
    ) => [r.username, r.annotation, r.createdAt, r.lastLogin, r.enabled, r.failedAttempts, r.disabledReason]),
    [
      [
        "alice",
        "Alice Smith - Developer",
        Date.UTC(2024, 9, 30, 9, 15, 30, 123),
        Date.UTC(2024, 10, 14, 9, 30),
        true,
        2,
        null,
      ],
      ["bob", null, Date.UTC(2024, 9, 15, 14, 20), null, true, 0, null],
      ["charlie", "Former emp", Date.UTC(2024, 8, 1, 8), Date.UTC(2024, 9, 10, 16, 45), false, 0, null],
    ],
  );
});

Deno.test("readUserFile() takes a hash alone, and dates in the past, the future and other zones", async () => {
  const { records, faults } = await read(
    `users:\n  007: { password_hash: "${hash}" }\n  a: { password_hash: "${hash}", created_at: 0001-01-01T00:00:00Z, last_login: "9999-12-31 23:59:59 -05:00", enabled: TRUE }\n`,
  );
  assert.deepEqual(faults, []);
  assert.deepEqual(records.map((r) => [r.username, r.enabled, r.failedAttempts, r.createdAt, r.lastLogin]), [
    ["007", true, 0, null, null],
    ["a", true, 0, -62135596800000, Date.UTC(10000, 0, 1, 4, 59, 59)],
  ]);
});

for (const text of ["", "# c\n", "users:\n", "users: {}\n", "~\n"]) {
  Deno.test(`readUserFile() finds no users and no fault in ${JSON.stringify(text)}`, async () => {
    assert.deepEqual(await read(text), { records: [], faults: [] });
  });
}

const expectedHash = "password_hash: expected a bcrypt hash ($2a$, $2b$ or $2y$)";
const expectedTime = (field: string) => `${field}: expected a time such as 2026-12-31T23:59:59Z, or null`;
const badFields: [title: string, fields: string, line: number, reason: string][] = [
  ["no hash", "annotation: x", 2, `${expectedHash} of 60 characters`],
  [
    "the password in place of its hash",
    "password_hash: hunter2hunter2",
    3,
    `${expectedHash} of 60 characters`,
  ],
  ["a hash that is cut", `password_hash: ${hash.slice(0, -1)}`, 3, `${expectedHash} of 60 characters`],
  [
    "an argon2id hash",
    "password_hash: $argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
    3,
    `${expectedHash}, got one of the scheme argon2id`,
  ],
  ["a SHA-512 crypt hash", "password_hash: $6$salt$hash", 3, `${expectedHash}, got one of the scheme 6`],
  ["a yescrypt hash", "password_hash: $y$j9T$salt$hash", 3, `${expectedHash}, got one of the scheme y`],
  [
    "the broken bcrypt variant",
    `password_hash: $2x$12$${"a".repeat(53)}`,
    3,
    `${expectedHash}, got one of the scheme 2x`,
  ],
  ["a SHA-256 in hex", `password_hash: ${"a".repeat(64)}`, 3, `${expectedHash} of 60 characters`],
  [
    "a cost that takes days",
    `password_hash: $2b$31$${"a".repeat(53)}`,
    3,
    "password_hash: its cost is 31; expected 4 to 15",
  ],
  [
    "a cost that bcrypt lacks",
    `password_hash: $2b$03$${"a".repeat(53)}`,
    3,
    "password_hash: its cost is 3; expected 4 to 15",
  ],
  ["a list as hash", `password_hash: [${hash}]`, 3, `${expectedHash} of 60 characters`],
  [
    "another username",
    `password_hash: ${hash}\n    username: good`,
    4,
    "username: expected the same name as the entry's id",
  ],
  [
    "a list as username",
    `password_hash: ${hash}\n    username: [bad]`,
    4,
    "username: expected the same name as the entry's id",
  ],
  ["enabled that is yes", `password_hash: ${hash}\n    enabled: yes`, 4, "enabled: expected true or false"],
  [
    "enabled that is a number",
    `password_hash: ${hash}\n    enabled: 1`,
    4,
    "enabled: expected true or false",
  ],
  [
    "a negative count",
    `password_hash: ${hash}\n    failed_attempts: -1`,
    4,
    "failed_attempts: expected a whole number from 0",
  ],
  [
    "half a failure",
    `password_hash: ${hash}\n    failed_attempts: 1.5`,
    4,
    "failed_attempts: expected a whole number from 0",
  ],
  [
    "an endless count",
    `password_hash: ${hash}\n    failed_attempts: .inf`,
    4,
    "failed_attempts: expected a whole number from 0",
  ],
  [
    "a mapping as count",
    `password_hash: ${hash}\n    failed_attempts: { a: 1 }`,
    4,
    "failed_attempts: expected text",
  ],
  [
    "a reason of its own",
    `password_hash: ${hash}\n    enabled: false\n    disabled_reason: holiday`,
    5,
    "disabled_reason: expected lockout or administrator",
  ],
  [
    "a day that no calendar has",
    `password_hash: ${hash}\n    last_login: 2026-02-30T00:00:00Z`,
    4,
    expectedTime("last_login"),
  ],
  [
    "text as creation time",
    `password_hash: ${hash}\n    created_at: yesterday`,
    4,
    expectedTime("created_at"),
  ],
  ["a list as annotation", `password_hash: ${hash}\n    annotation: [a]`, 4, "annotation: expected text"],
  [
    "a field twice",
    `password_hash: ${hash}\n    enabled: false\n    enabled: true`,
    5,
    'the field "enabled" appears twice',
  ],
  [
    "a misspelt field",
    `password_hash: ${hash}\n    enabeld: false`,
    4,
    'unknown field "enabeld"; expected username, password_hash, annotation, created_at, last_login, enabled, failed_attempts or disabled_reason',
  ],
];
for (const [title, fields, line, reason] of badFields) {
  Deno.test(`readUserFile() reports an entry with ${title} and loads the others`, async () => {
    const { records, faults } = await read(
      `users:\n  bad:\n    ${fields}\n  good:\n    password_hash: ${hash}\n`,
    );
    assert.deepEqual(records.map((record) => record.username), ["good"]);
    assert.deepEqual(faults, [{
      entry: "bad",
      line,
      message: `Cannot load user "bad" (PATH, line ${line}): ${reason}`,
    }]);
  });
}

const badNames: [key: string, shown: string, reason: string][] = [
  [`"a\\u0007b"`, `"a\\u0007b"`, "it holds a control character"],
  [`"a\\nb"`, `"a\\nb"`, "it holds a control character"],
  [`"\\u202ecilа"`, `"\\u202ecilа"`, "it holds an invisible character or a mark of writing direction"],
  [`"al\\u200bice"`, `"al\\u200bice"`, "it holds an invisible character or a mark of writing direction"],
  ["x".repeat(1_000), `"${"x".repeat(79)}…"`, "it has 1000 characters, and at most 254 are allowed"],
  [
    "x".repeat(10_000),
    `"${"x".repeat(79)}…"`,
    "it has 10000 characters, and at most 254 are allowed",
  ],
  [`" alice"`, `" alice"`, "it begins or ends with a space"],
  ["__proto__", `"__proto__"`, "the name is reserved"],
];
for (const [key, shown, reason] of badNames) {
  Deno.test(`readUserFile() reports the name ${shown} and loads the others`, async () => {
    const { records, faults } = await read(
      `users:\n  good: { password_hash: "${hash}" }\n  ${key}: { password_hash: "${hash}" }\n`,
    );
    assert.deepEqual(records.map((record) => record.username), ["good"]);
    assert.deepEqual(faults.map((fault) => fault.message), [
      `Cannot load user ${shown} (PATH, line 3): the username cannot be used: ${reason}`,
    ]);
  });
}

Deno.test("readUserFile() keeps the first of two entries with one name, and takes no alias", async () => {
  const entry = `{ password_hash: "${hash}" }`;
  const { records, faults } = await read(
    `users:\n  a: &a ${entry}\n  a: ${entry}\n  b: *a\n  <<: *a\n  "": ${entry}\n  c:\n`,
  );
  assert.deepEqual(records.map((record) => record.username), ["a"]);
  assert.deepEqual(faults.map((fault) => fault.message), [
    'Cannot load user "a" (PATH, line 3): the file has this id already',
    'Cannot load user "b" (PATH, line 4): expected a mapping of fields, not an alias',
    'Cannot load user "<<" (PATH, line 5): expected a mapping of fields, not an alias',
    'Cannot load user "" (PATH, line 6): expected an id',
    'Cannot load user "c" (PATH, line 7): expected a mapping of fields',
  ]);
});

for (
  const [title, text] of [["a list", "users: [alice]\n"], [
    "lists of mappings",
    "users:\n  - username: alice\n",
  ]] as const
) {
  Deno.test(`readUserFile() reports ${title} in place of the mapping`, async () => {
    const { records, faults } = await read(text);
    assert.deepEqual(records, []);
    assert.match(faults[0]?.message ?? "", /^Cannot load user "" \(PATH, line \d\): expected an id$/);
  });
}

for (const text of ["users: yes\n", "- users\n", "users:\n  a: [\n", "users: {}\nusers: {}\n"]) {
  Deno.test(`readUserFile() refuses ${JSON.stringify(text)} as a whole, naming the line`, async () => {
    await assert.rejects(read(text), { name: "AppError", code: "invalid", message: /, line \d: / });
  });
}

Deno.test("readUserFile() reads ten thousand users without holding up other tasks for long", async () => {
  const entry = (i: number) =>
    `  user${i}:\n    username: user${i}\n    password_hash: ${hash}\n    annotation: ""\n    created_at: 2026-01-15T08:30:00Z\n    last_login: null\n    enabled: true\n    failed_attempts: 0\n`;
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const { records, faults } = await read(
    `users:\n${Array.from({ length: 10_000 }, (_, i) => entry(i)).join("")}`,
  );
  clearInterval(timer);
  assert.equal(records.length, 10_000);
  assert.deepEqual(faults, []);
  assert.ok(ticks >= 8, `other tasks ran only ${ticks} times`);
});
