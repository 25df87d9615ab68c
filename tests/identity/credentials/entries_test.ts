import assert from "node:assert/strict";
import { changeEntries, loadEntries } from "../../../src/identity/credentials/entries.ts";

const change = (text: string, ...changes: Parameters<typeof changeEntries>[2]) =>
  changeEntries({ path: "users.yaml", text }, "users", changes);

const plain = `# accounts
users:
    # about alice
    alice:    # her entry
        enabled: true   # for now
        last_login:     # never
        failed_attempts: 0
        disabled_reason: lockout

    "bob":
        "enabled": 'true'
# the end
`;

Deno.test("changeEntries() changes nothing but the values of a plain file", async () => {
  assert.equal(
    await change(
      plain,
      { id: "bob", fields: { enabled: false, annotation: "a # b: c" } },
      {
        id: "alice",
        fields: { enabled: false, last_login: "2026-01-15T08:30:00Z", disabled_reason: undefined },
      },
    ),
    plain.replace("enabled: true   #", "enabled: false   #")
      .replace("last_login:     # never", "last_login:     2026-01-15T08:30:00Z # never")
      .replace("        disabled_reason: lockout\n", "")
      .replace(`"enabled": 'true'\n`, `"enabled": false\n        annotation: "a # b: c"\n`),
  );
});

const shapes: [title: string, before: string, after: string][] = [
  [
    "a flow mapping",
    "users: { alice: { enabled: true } } # c\n",
    "users: { alice: { enabled: false, n: 1 } } # c\n",
  ],
  [
    "line ends of Windows",
    "users:\r\n  alice:\r\n    enabled: true\r\n",
    "users:\n  alice:\n    enabled: false\n    n: 1\n",
  ],
  [
    "an anchor elsewhere",
    "users:\n  x: { a: &x 1 }\n  alice:\n    enabled: true # c\n",
    "users:\n  x: { a: &x 1 }\n  alice:\n    enabled: false # c\n    n: 1\n",
  ],
  [
    "no line end at the end",
    "users:\n  alice:\n    enabled: true",
    "users:\n  alice:\n    enabled: false\n    n: 1",
  ],
  [
    "an empty value at the end",
    "users:\n  alice:\n    enabled:",
    "users:\n  alice:\n    enabled: false\n    n: 1",
  ],
];
for (const [title, before, after] of shapes) {
  Deno.test(`changeEntries() changes a file with ${title}`, async () => {
    assert.equal(await change(before, { id: "alice", fields: { enabled: false, n: 1 } }), after);
  });
}

const notes = [
  "null",
  "~",
  "12",
  "true",
  "a: b",
  "a #b",
  "# c",
  "",
  " padded ",
  "two\nlines\n",
  "é 😀",
  `"quoted" 'it''s'`,
  "- x",
  "\\",
  "\t",
  "\u0007",
  "*x",
  "{",
  "x".repeat(500),
];
for (const note of notes) {
  for (
    const [title, before] of [["plain", "users:\n  alice:\n    annotation: x\n"], [
      "flow",
      "users: { alice: { annotation: x } }\n",
    ]] as const
  ) {
    Deno.test(`changeEntries() writes ${JSON.stringify(note.slice(0, 20))} so that it is read again, ${title}`, async () => {
      const text = await change(before, { id: "alice", fields: { annotation: note, more: note } });
      const [entry] = await loadEntries({ path: "users.yaml", text }, "users");
      assert.equal(entry?.fields.get("annotation")?.text, note);
      assert.equal(entry?.fields.get("more")?.text, note);
    });
  }
}

Deno.test("changeEntries() refuses an id that is not there, and the names of properties", async () => {
  for (const id of ["bobby", "__proto__", "constructor", ""]) {
    for (const text of [plain, "users: {}\n"]) {
      await assert.rejects(change(text, { id, fields: { enabled: true } }), { code: "not_found" });
    }
  }
});

// of a layout that the parser has to read
const longText = (count: number) =>
  "users:\n" +
  Array.from({ length: count }, (_, i) => `  user${i}: { username: user${i}, enabled: true }\n`).join("");

Deno.test("a long text of another layout is read and changed in a worker, with the same outcome", async () => {
  const text = longText(1_500);
  const before = await loadEntries({ path: "users.yaml", text }, "users");
  assert.equal(before.length, 1_500);
  assert.deepEqual(before[1_400]?.fields.get("username"), { line: 1_402, text: "user1400" });
  const changed = await change(text, { id: "user1400", fields: { enabled: false } });
  assert.equal(changed, text.replace("user1400, enabled: true", "user1400, enabled: false"));
});

Deno.test("a long text with a fault gives the parser's error from the worker, and lets other tasks run", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const text = `${longText(1_500)}  broken: [\n`;
  await assert.rejects(loadEntries({ path: "users.yaml", text }, "users"), {
    name: "AppError",
    code: "invalid",
    message: /^Cannot read users\.yaml, line 150\d: /,
  });
  clearInterval(timer);
  assert.ok(ticks > 5);
});

Deno.test("a million aliases are read in a worker and expanded nowhere", async () => {
  const text = `users:\n  x: { a: &x [a, a] }\n  y: { a: [${
    "*x,".repeat(200_000)
  }] }\n  alice: { enabled: *x }\n  bob: { enabled: true }\n`;
  const entries = await loadEntries({ path: "users.yaml", text }, "users");
  assert.deepEqual(entries.slice(2).map(({ id, fields }) => [id, fields.get("enabled")?.text]), [
    ["alice", undefined],
    ["bob", "true"],
  ]);
});
