import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CredentialEntry,
  markRepeatedIds,
  parseCredentialText,
  readEntries,
} from "../../../src/identity/credentials/yaml_entries.ts";
import { readPlainLayout } from "../../../src/identity/credentials/entries.ts";

const plainText = `# accounts of staging

users:   # the section
  # about alice
  alice:
    username: alice
    annotation: Developer   # since May
`;

Deno.test("readPlainLayout() reads entries with lines, offsets and indentation", async () => {
  const entries = await readPlainLayout(plainText, "users");
  assert.equal(entries?.length, 1);
  const [entry] = entries;
  assert.deepEqual([entry?.id, entry?.line, entry?.indent], ["alice", 5, 4]);
  assert.deepEqual([...entry?.fields ?? []], [
    ["username", { line: 6, text: "alice" }],
    ["annotation", { line: 7, text: "Developer" }],
  ]);
  assert.ok(plainText.slice(entry?.start, entry?.end).startsWith("  alice:\n    username"));
});

const left: [title: string, text: string][] = [
  ["a flow mapping", "users: {}\n"],
  ["an entry in a flow mapping", "users:\n  a: { b: c }\n"],
  ["an anchor", "users:\n  a: &x\n    b: c\n"],
  ["an anchored value", "users:\n  a:\n    b: &x c\n"],
  ["an alias", "users:\n  a:\n    b: *x\n"],
  ["a tag", "users:\n  a:\n    b: !!str c\n"],
  ["a merge key", "users:\n  a:\n    <<: x\n"],
  ["a block scalar", "users:\n  a:\n    b: |\n      c\n"],
  ["a value on the next line", "users:\n  a:\n    b:\n      c\n"],
  ["a value over two lines", "users:\n  a:\n    b: c\n      d\n"],
  ["a quote over two lines", 'users:\n  a:\n    b: "c\n      d"\n'],
  ["a list", "users:\n  - a: b\n"],
  ["two documents", "users:\n  a:\n    b: c\n---\nusers:\n"],
  ["another key beside the section", "users:\n  a:\n    b: c\nversion: 1\n"],
  ["the section twice", "users:\n  a:\n    b: c\nusers:\n"],
  ["a field twice", "users:\n  a:\n    b: c\n    b: d\n"],
  ["an entry without fields", "users:\n  a:\n  b:\n    c: d\n"],
  ["a last entry without fields", "users:\n  a:\n"],
  ["unequal indentation of entries", "users:\n   a:\n     b: c\n  d:\n    e: f\n"],
  ["unequal indentation of fields", "users:\n  a:\n     b: c\n    d: e\n"],
  ["a tab", "users:\n  a:\n    b:\tc\n"],
  ["line ends of Windows", "users:\r\n  a:\r\n    b: c\r\n"],
  ["a colon and a space inside", "users:\n  a:\n    b: c: d\n"],
  ["a null key", "users:\n  null:\n    b: c\n"],
  ["a quoted value with more behind it", 'users:\n  a:\n    b: "c" d\n'],
  ["a comment's mark inside quotes", 'users:\n  a:\n    b: "c # d"\n'],
  ["a directive", "%YAML 1.2\n---\nusers:\n  a:\n    b: c\n"],
];
for (const [title, text] of left) {
  Deno.test(`readPlainLayout() leaves ${title} to the parser`, async () => {
    assert.equal(await readPlainLayout(text, "users"), undefined);
  });
}

// what a line may hold, so that most of what is put together is nearly of the layout
const key = fc.constantFrom(
  "a",
  "alice",
  "007",
  "true",
  '"q k"',
  "'q'",
  "é",
  "null",
  "a b",
  "a ",
  "null b",
  "x.y@z",
  "-",
  "a:b",
  "__proto__",
  "<<",
);
const value = fc.oneof(
  fc.constantFrom(
    "",
    "x",
    "null",
    "a b",
    "a ",
    "null b",
    "~",
    "Null",
    "true",
    "12",
    '"a\\nb"',
    '"a\\x41"',
    "'it''s'",
    "'a''",
    "#c",
    "a#b",
    "a #b",
  ),
  fc.constantFrom(
    '"a" #b',
    '"a #b"',
    "'a #b'",
    "a:b",
    "a: b",
    "a:",
    "$2b$12$x/y.z",
    "2026-01-01T00:00:00Z",
    "a  ",
    "é 😀",
  ),
  fc.constantFrom(
    "[a]",
    "{a: b}",
    "*x",
    "&x a",
    "|",
    ">-",
    "!t a",
    "@a",
    "`a",
    "%a",
    "-a",
    "- a",
    "?a",
    ":a",
    "a]",
    "a,b",
    "\\",
  ),
  fc.string({ maxLength: 6 }),
  fc.string({ unit: fc.constantFrom(...`"'#: \\[]{},&*!|>-?@%~an/0`), maxLength: 9 }),
);
const noise = fc.constantFrom(
  "",
  "  ",
  "# c",
  "      # c",
  "  #c",
  "---",
  "...",
  "users:",
  "\t",
  "    x",
  "  - a",
  "   a: b",
);
const field = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(key, value).map(([k, v]) => `    ${k}: ${v}`) },
  { weight: 1, arbitrary: noise },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(0, 2, 3, 6), key, value).map(([n, k, v]) =>
      `${" ".repeat(n)}${k}:${v}`
    ),
  },
);
const entry = fc.tuple(
  key,
  fc.constantFrom("", "", "", " # c", " ", " null", "x"),
  fc.array(field, { minLength: 1, maxLength: 4 }),
)
  .map(([id, rest, fields]) => [`  ${id}:${rest}`, ...fields]);
const file = fc.array(entry, { maxLength: 3 }).map((entries) => ["users:", ...entries.flat(), ""].join("\n"));

const plainOf = ({ id, line, fields, faults }: CredentialEntry) => ({
  id,
  line,
  fields: [...fields],
  faults,
});

Deno.test("what readPlainLayout() accepts means the same to the YAML parser", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(file, async (text) => {
      const entries = await readPlainLayout(text, "users");
      if (entries === undefined) return;
      accepted += entries.length;
      const parsed = readEntries(parseCredentialText({ path: "users.yaml", text }), "users");
      assert.deepEqual(markRepeatedIds(entries).map(plainOf), parsed.map(plainOf));
    }),
    { numRuns: 20_000 },
  );
  assert.ok(accepted > 100, `only ${accepted} entries were compared`);
});
