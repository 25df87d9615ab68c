import assert from "node:assert/strict";
import { isMetadataRule } from "../../../src/rag_server/ingest/metadata_kinds.ts";
import { metadataOf } from "../../../src/rag_server/ingest/metadata_rules.ts";
import { testWithPgvector } from "../../support/database.ts";
import { countedEmbedding, createIngestFixture, table } from "./ingest_fixture.ts";

Deno.test("metadataOf() takes an expression's first group and the keys of front matter, and null for the rest", () => {
  const rules = {
    product: "docs/([^/]+)/(.*)",
    missing: "wiki/([^/]+)/",
    tags: "front_matter.tags",
    owner: "front_matter.owner.name",
    day: "front_matter.day",
    none: "front_matter.owner.name.first",
    inherited: "front_matter.constructor",
  };
  const matter = "tags: [a, b]\nowner: { name: Ida }\nday: 2024-05-17";
  const empty = { missing: null, none: null, inherited: null };
  assert.deepEqual(metadataOf(rules, { path: "docs/pump/use.md", matter }), {
    product: "pump",
    tags: ["a", "b"],
    owner: "Ida",
    day: "2024-05-17",
    ...empty,
  });
  const nothing = { product: null, tags: null, owner: null, day: null, ...empty };
  assert.deepEqual(metadataOf(rules, { path: "use.md", matter: undefined }), nothing);
  assert.deepEqual(metadataOf(rules, { path: "use.md", matter: "just text" }), nothing);
  assert.throws(
    () => metadataOf(rules, { path: "use.md", matter: "a: [" }),
    /^Error: its front matter is not YAML: /,
  );
});

Deno.test("metadataOf() keeps a number as it is written where JSON would write another", () => {
  const matter =
    "a: 1.10\nb: 0012\nc: 12345678901234567890\nd: [1.10, [0012, ~, 7]]\ne: { x: 3.0 }\nf: 12\n" +
    'g: true\nh: True\ni: ~\nj: "1.10\\t\\""\nk: |\n  two\n  lines\nl: &name 1.50\nm: *name';
  const rules = Object.fromEntries([..."abcdefghijklm"].map((key) => [key, `front_matter.${key}`]));
  assert.deepEqual(metadataOf(rules, { path: "a.md", matter }), {
    a: "1.10",
    b: "0012",
    c: "12345678901234567890",
    d: ["1.10", ["0012", null, 7]],
    e: { x: "3.0" },
    f: 12,
    g: true,
    h: true,
    i: null,
    j: '1.10\t"',
    k: "two\nlines\n",
    l: "1.50",
    m: "1.50",
  });
});

testWithPgvector("ingest() fills columns of any type with numbers as front matter has them", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.txt": "Some text." });
  const matter = "version: 1.10\nbuild: 0012\nticket: 12345678901234567890\nparts: [1.10, 0012]\n" +
    "whole: 3.0\nwholes: [3.0, 4]\nisOpen: True\nday: 2024-05-17\nmore: { count: 12, ok: true }";
  const rules = {
    version: "version",
    version_number: "version",
    build: "build",
    build_number: "build",
    ticket: "ticket",
    ticket_number: "ticket",
    parts: "parts",
    part_numbers: "parts",
    whole: "whole",
    whole_number: "whole",
    wholes: "wholes",
    whole_list: "whole",
    is_open: "isOpen",
    day: "day",
    more: "more",
  };
  await fixture.ingest();
  await fixture.database.query(`ALTER TABLE docs ADD version text, ADD version_number numeric, ADD build text,
    ADD build_number int, ADD ticket text, ADD ticket_number numeric, ADD parts text[], ADD part_numbers numeric[],
    ADD whole text, ADD whole_number int, ADD wholes bigint[], ADD whole_list int[], ADD is_open boolean, ADD day date, ADD more jsonb`);
  await fixture.write({ "a.md": `---\n${matter}\n---\n# Use\n\nSwitch it on.` });
  const metadata = Object.fromEntries(
    Object.entries(rules).map(([column, key]) => [column, `front_matter.${key}`]),
  );
  assert.deepEqual((await fixture.ingest({ table: { ...table, metadata } })).failed, []);
  const columns = Object.keys(rules).map((column) => `${column}::text`).join(", ");
  assert.deepEqual(await fixture.database.query(`SELECT ${columns} FROM docs WHERE source = 'a.md'`), [[
    "1.10",
    "1.10",
    "0012",
    "12",
    "12345678901234567890",
    "12345678901234567890",
    "{1.10,0012}",
    "{1.10,12}",
    "3.0",
    "3",
    "{3,4}",
    "{3}",
    "true",
    "2024-05-17",
    '{"ok": true, "count": 12}',
  ]]);
});

Deno.test("isMetadataRule() wants a group or a key of front matter", () => {
  assert.ok(["docs/([^/]+)/", "^(?:a|b)/(?<n>.)", "front_matter.a.b"].every(isMetadataRule));
  assert.ok(
    !["docs/", "docs/(", "(?:a)", "front_matter.", "front_matter.a..b", "(a)\\"].some(isMetadataRule),
  );
});

testWithPgvector(
  "ingest() fills columns by rules, and again where rules change, without embedding anew",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({
      "docs/pump/use.md": "---\ntags: [water, power]\n---\n# Use\n\nSwitch it on.",
      "docs/fan/use.md": "---\ntags: air\n---\n# Fan\n\nTurn the knob.",
      "readme.txt": "Welcome to the documents.",
    });
    const rules = { product: "docs/([^/]+)/", tags: "front_matter.tags" };
    const first = await fixture.ingest({ table: { ...table, metadata: rules } });
    // the table has lists for tags, as the first files have one
    assert.deepEqual([first.added, first.failed], [3, []]);
    const shown = () =>
      fixture.database.query("SELECT source, product, tags::text FROM docs ORDER BY source");
    // a value alone is a list of one
    assert.deepEqual(await shown(), [
      ["docs/fan/use.md", "fan", "{air}"],
      ["docs/pump/use.md", "pump", "{water,power}"],
      ["readme.txt", null, null],
    ]);
    const embedding = countedEmbedding();
    const changed = { ...table, metadata: { product: "([a-z]+)[.]md$", tags: "front_matter.tags" } };
    await fixture.ingest({ table: changed, embedding });
    assert.deepEqual(embedding.texts, []);
    assert.deepEqual(await shown(), [
      ["docs/fan/use.md", "use", "{air}"],
      ["docs/pump/use.md", "use", "{water,power}"],
      ["readme.txt", null, null],
    ]);

    await fixture.database.query(
      "ALTER TABLE docs ALTER product TYPE int USING NULL, ADD made text GENERATED ALWAYS AS ('x') STORED",
    );
    for (const isDryRun of [true, false]) {
      const refused = await fixture.ingest({
        table: { ...table, metadata: { product: "docs/(\\w+)" } },
        isDryRun,
      });
      assert.deepEqual(refused.failed.map(({ path }) => path), ["docs/fan/use.md", "docs/pump/use.md"]);
      assert.match(
        refused.failed[0]?.reason ?? "",
        /^metadata\.product does not fit column "product": .*invalid input syntax for type integer: "fan"/,
      );
    }
    for (
      const [name, reason] of [
        ["colour", /it has no column "colour" for metadata\.colour; add it$/],
        ["id", /metadata\.id cannot fill column "id": that has values of its own$/],
        ["made", /metadata\.made cannot fill column "made"/],
      ] as const
    ) {
      await assert.rejects(fixture.ingest({ table: { ...table, metadata: { [name]: "(a)" } } }), reason);
    }
  },
);

testWithPgvector(
  "ingest() names a file at whose path an expression does not end in time, and goes on",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write({ [`${"a".repeat(60)}!.md`]: "Some text.", "b.md": "Other text." });
    const metadata = { product: "^(a+)+$" };
    const summary = await fixture.ingest({ table: { ...table, metadata }, readTimeoutMs: 3_000 });
    assert.deepEqual([summary.added, summary.failed.map(({ reason }) => reason)], [1, [
      "reading it took more than 3 seconds",
    ]]);
  },
);
