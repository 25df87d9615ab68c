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
