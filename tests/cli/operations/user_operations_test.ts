import assert from "node:assert/strict";
import {
  addUser,
  deleteUser,
  disableUser,
  enableUser,
  listUsers,
  updateUser,
  type UserOperationOutput,
} from "../../../src/cli/operations/user_operations.ts";
import { verifyPassword } from "../../../src/identity/users/password_hashing.ts";
import { readUserFile } from "../../../src/identity/users/user_file.ts";
import { pgedgePassword, pgedgeUserFile } from "../../identity/pgedge_user_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const now = Date.UTC(2026, 0, 15, 8, 30, 0, 500);
const hash = `$2b$12$${"a".repeat(53)}`;
const threeUsers = `users:
  alice:
    username: alice
    password_hash: ${hash}
    annotation: Developer
    created_at: 2026-01-15T08:30:00Z
    last_login: 2026-01-15T09:30:00+01:00
    enabled: true
    failed_attempts: 0
  bob:
    username: bob
    password_hash: ${hash}
    annotation: "\\e[31mred"
    created_at: 2026-01-15T08:30:00Z
    last_login: null
    enabled: false
    failed_attempts: 5
    disabled_reason: lockout # on Monday
  charlie:
    password_hash: ${hash}
    enabled: false
`;

/** Runs an operation on a user file with a text; absent: no file. */
async function run(
  text: string | undefined,
  operation: (userFile: string, output: UserOperationOutput) => Promise<void>,
) {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/users.yaml`;
  if (text !== undefined) await Deno.writeTextFile(path, text, { mode: 0o600 });
  const [printed, warnings]: [string[], string[]] = [[], []];
  const plain = (lines: string[]) => (line: string) => void lines.push(line.replaceAll(path, "PATH"));
  await operation(path, {
    print: plain(printed),
    warn: plain(warnings),
    now: () => now,
    askPassword: (username) => {
      warnings.push(`asked for the password of ${username}`);
      return Promise.resolve("asked for, unseen");
    },
  });
  const after = await Deno.readTextFile(path).catch(() => undefined);
  const { records } = await readUserFile(path);
  return { printed, warnings, after, records };
}

Deno.test("-list-users prints an aligned table", async () => {
  const { printed, warnings, after } = await run(
    threeUsers,
    (userFile, output) => listUsers({ userFile, json: false }, output),
  );
  assert.deepEqual(warnings, []);
  assert.equal(after, threeUsers);
  assert.deepEqual(printed, [
    "USERNAME  NOTE           CREATED               LAST LOGIN            STATUS    FAILED",
    "alice     Developer      2026-01-15 08:30 UTC  2026-01-15 08:30 UTC  enabled   0",
    "bob       \\u001b[31mred  2026-01-15 08:30 UTC  never                 locked    5",
    "charlie   -              -                     never                 disabled  0",
  ]);
});

Deno.test("-list-users -json prints an array, without a hash", async () => {
  const { printed } = await run(
    threeUsers,
    (userFile, output) => listUsers({ userFile, json: true }, output),
  );
  assert.equal(printed.length, 1);
  assert.deepEqual(JSON.parse(printed[0] ?? ""), [
    {
      username: "alice",
      annotation: "Developer",
      created_at: "2026-01-15T08:30:00Z",
      last_login: "2026-01-15T08:30:00Z",
      enabled: true,
      disabled_reason: null,
      failed_attempts: 0,
    },
    {
      username: "bob",
      annotation: "\u001b[31mred",
      created_at: "2026-01-15T08:30:00Z",
      last_login: null,
      enabled: false,
      disabled_reason: "lockout",
      failed_attempts: 5,
    },
    {
      username: "charlie",
      annotation: null,
      created_at: null,
      last_login: null,
      enabled: false,
      disabled_reason: null,
      failed_attempts: 0,
    },
  ]);
});

for (const text of [undefined, "", "users: {}\n"]) {
  Deno.test(`-list-users says that there are none: ${JSON.stringify(text) ?? "no file"}`, async () => {
    const list = (json: boolean) => run(text, (userFile, output) => listUsers({ userFile, json }, output));
    assert.deepEqual((await list(false)).printed, ["no users in PATH"]);
    assert.deepEqual((await list(true)).printed, ["[]"]);
    assert.equal((await list(false)).after, text);
  });
}

Deno.test("-list-users warns of entries that do not load and of a file that others can read", async () => {
  const { printed, warnings } = await run(
    "users:\n  a: { password_hash: x }\n",
    async (userFile, output) => {
      await Deno.chmod(userFile, 0o644);
      await listUsers({ userFile, json: true }, output);
    },
  );
  assert.deepEqual(printed, ["[]"]);
  assert.deepEqual(warnings, [
    "Other users of this machine can access PATH (mode 0644); run: chmod 600 PATH",
    `Cannot load user "a" (PATH, line 2): password_hash: expected a bcrypt hash ($2a$, $2b$ or $2y$) of 60 characters`,
  ]);
});

const change = (
  userFile: string,
  username: string,
  extra: { password?: string; note?: string; json?: boolean } = {},
) => ({
  userFile,
  username,
  json: false,
  passwordMinLength: 12,
  ...extra,
});

Deno.test("-add-user asks for the password and makes the entry of the documentation", async () => {
  const { printed, warnings, after, records } = await run(
    undefined,
    (userFile, output) => addUser(change(userFile, "alice", { note: "Developer" }), output),
  );
  assert.deepEqual(printed, ["Added user alice to PATH"]);
  assert.deepEqual(warnings, ["asked for the password of alice"]);
  const written = records[0]?.passwordHash ?? "";
  assert.ok(written.startsWith("$2b$12$") && verifyPassword("asked for, unseen", written, 12));
  assert.equal(
    after?.replace(written, "HASH"),
    `users:
  alice:
    username: alice
    password_hash: HASH
    annotation: Developer
    created_at: 2026-01-15T08:30:00Z
    last_login: null
    enabled: true
    failed_attempts: 0
`,
  );
});

Deno.test("-add-user takes a password from the command line with a warning, and prints JSON without a hash", async () => {
  const { printed, warnings, after, records } = await run(
    threeUsers,
    (userFile, output) =>
      addUser(
        change(userFile, "Zoë 日本", { password: "correct horse battery", json: true }),
        output,
      ),
  );
  assert.deepEqual(warnings, ["A password on the command line can be seen by other users of this machine"]);
  assert.deepEqual(JSON.parse(printed.join("\n")), {
    username: "Zoë 日本",
    annotation: null,
    created_at: "2026-01-15T08:30:00Z",
    last_login: null,
    enabled: true,
    disabled_reason: null,
    failed_attempts: 0,
  });
  assert.ok(after?.startsWith(threeUsers));
  assert.ok(verifyPassword("correct horse battery", records.at(-1)?.passwordHash ?? "", 12));
});

const refusals: [title: string, username: string, password: string, message: string][] = [
  [
    "a taken name",
    "alice",
    "correct horse battery",
    'Cannot add user "alice": PATH already has a user of that name',
  ],
  ["an empty name", "", "correct horse battery", 'Cannot add user "": it is empty'],
  ["__proto__", "__proto__", "correct horse battery", 'Cannot add user "__proto__": the name is reserved'],
  [
    "a name of others: local",
    "local",
    "correct horse battery",
    'Cannot add user "local": the caller over stdio has that name',
  ],
  [
    "a name of others: none",
    "none",
    "correct horse battery",
    'Cannot add user "none": to PostgreSQL it means the role of the login',
  ],
  [
    "a name of others: token-1730000000",
    "token-1730000000",
    "correct horse battery",
    'Cannot add user "token-1730000000": names that begin with token- or token: are those of API tokens',
  ],
  [
    "a name of others: group:analysts",
    "group:analysts",
    "correct horse battery",
    'Cannot add user "group:analysts": in available_to_users it names a group',
  ],
  [
    "a name of others: https://login.example.com#alice",
    "https://login.example.com#alice",
    "correct horse battery",
    'Cannot add user "https://login.example.com#alice": ISSUER#SUBJECT names somebody of an identity provider',
  ],
  [
    "a name of others: proxy:X-Forwarded-Claims#alice",
    "proxy:X-Forwarded-Claims#alice",
    "correct horse battery",
    'Cannot add user "proxy:X-Forwarded-Claims#alice": ISSUER#SUBJECT names somebody of an identity provider',
  ],
  [
    "a control character",
    "a\u0007",
    "correct horse battery",
    'Cannot add user "a\\u0007": it holds a control character',
  ],
  [
    "a mark of direction",
    "\u202eecila",
    "correct horse battery",
    'Cannot add user "\\u202eecila": it holds an invisible character or a mark of writing direction',
  ],
  [
    "a name of 10,000 characters",
    "x".repeat(10_000),
    "correct horse battery",
    `Cannot add user "${"x".repeat(79)}…": it has 10000 characters, and at most 254 are allowed`,
  ],
  ["an empty password", "dora", "", "Cannot set the password: it is empty"],
  [
    "a short password",
    "dora",
    "elevenchars",
    "Cannot set the password: it has 11 characters, and at least 12 are needed",
  ],
  [
    "a long password",
    "dora",
    "é".repeat(37),
    "Cannot set the password: it has 74 bytes, and bcrypt uses only the first 72",
  ],
  [
    "a password with NUL",
    "dora",
    "correct\0horse battery",
    "Cannot set the password: it holds a NUL character",
  ],
];
for (const [title, username, password, message] of refusals) {
  Deno.test(`-add-user refuses ${title} and leaves the file alone`, async () => {
    await run(threeUsers, async (userFile, output) => {
      await assert.rejects(addUser(change(userFile, username, { password }), output), {
        name: "AppError",
        message: message.replace("PATH", userFile),
      });
      assert.equal(await Deno.readTextFile(userFile), threeUsers);
      output.print("refused");
    });
  });
}

Deno.test("-update-user changes the password and nothing else", async () => {
  const { printed, after, records } = await run(
    pgedgeUserFile,
    (userFile, output) => updateUser(change(userFile, "alice", { password: "correct horse 2" }), output),
  );
  assert.deepEqual(printed, ["Updated user alice in PATH"]);
  const alice = records[0];
  assert.ok(verifyPassword("correct horse 2", alice?.passwordHash ?? "", 12));
  assert.ok(!verifyPassword(pgedgePassword, alice?.passwordHash ?? "", 12));
  assert.equal(after, pgedgeUserFile.replace(/\$2a\$04\S+/, () => alice?.passwordHash ?? ""));
});

Deno.test("-update-user with a note alone asks for no password; without either it does", async () => {
  const noted = await run(
    pgedgeUserFile,
    (userFile, output) => updateUser(change(userFile, "bob", { note: "Admin: all" }), output),
  );
  assert.deepEqual(noted.warnings, []);
  assert.equal(noted.after, pgedgeUserFile.replace('annotation: ""', 'annotation: "Admin: all"'));
  const asked = await run(
    pgedgeUserFile,
    (userFile, output) => updateUser(change(userFile, "bob"), output),
  );
  assert.deepEqual(asked.warnings, ["asked for the password of bob"]);
  assert.ok(verifyPassword("asked for, unseen", asked.records[1]?.passwordHash ?? "", 12));
});

Deno.test("-enable-user ends a lockout and clears the count; -disable-user says who did it", async () => {
  const enabled = await run(
    threeUsers,
    (userFile, output) => enableUser({ userFile, username: "bob", json: false }, output),
  );
  assert.deepEqual(enabled.printed, ["Enabled user bob in PATH"]);
  assert.equal(
    enabled.after,
    threeUsers.replace(
      "enabled: false\n    failed_attempts: 5\n    disabled_reason: lockout # on Monday\n",
      "enabled: true\n    failed_attempts: 0\n",
    ),
  );
  const disabled = await run(
    threeUsers,
    (userFile, output) => disableUser({ userFile, username: "alice", json: true }, output),
  );
  assert.deepEqual(JSON.parse(disabled.printed.join("\n")).disabled_reason, "administrator");
  assert.equal(
    disabled.after,
    threeUsers.replace(
      "enabled: true\n    failed_attempts: 0\n",
      "enabled: false\n    failed_attempts: 0\n    disabled_reason: administrator\n",
    ),
  );
});

Deno.test("-delete-user removes the entry, a faulty one too", async () => {
  const { printed, after } = await run(
    threeUsers.replace(hash, "nonsense"),
    (userFile, output) => deleteUser({ userFile, username: "alice", json: false }, output),
  );
  assert.deepEqual(printed, ["Deleted user alice from PATH"]);
  assert.equal(after, threeUsers.replace(/ {2}alice:\n(?: {4}.*\n)+/, ""));
});

const onOne = { enableUser, disableUser, deleteUser, updateUser };
for (const [name, operation] of Object.entries(onOne)) {
  Deno.test(`${name}() fails for a name that is not there, makes no file and asks for nothing`, async () => {
    for (const username of ["", "nobody", "Alice", "__proto__", "constructor"]) {
      for (const text of [threeUsers, undefined]) {
        const { after, warnings } = await run(text, async (userFile, output) => {
          await assert.rejects(operation(change(userFile, username), output), {
            name: "AppError",
            code: "not_found",
            message: /^Cannot (?:change|delete) user ".*": .*users\.yaml has no such user$/,
          });
        });
        assert.equal(after, text);
        assert.deepEqual(warnings, []);
      }
    }
  });
}

Deno.test("a change refuses an entry that does not load, naming it and its line", async () => {
  await run(threeUsers.replace(hash, "nonsense"), async (userFile, output) => {
    await assert.rejects(enableUser({ userFile, username: "alice", json: false }, output), {
      code: "invalid",
      message: /^Cannot load user "alice" \(.*users\.yaml, line 4\): password_hash: expected a bcrypt hash/,
    });
  });
});
