import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { checkFilter } from "../../../src/rag_server/filter/check_filter.ts";
import { findColumn, requestColumns } from "../../../src/rag_server/filter/compile_filter.ts";
import { operators } from "../../../src/rag_server/query_limits.ts";
import type { Condition } from "../../../src/rag_server/query.ts";
import type { ColumnType } from "../../../src/rag_server/search/column_type.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();
const json: ColumnType = { kind: "json", sqlType: "jsonb" };
const text: ColumnType = { kind: "text", sqlType: "text" };
const columns = new Map<string, ColumnType>([
  ["meta", json],
  ["title", text],
  ["Title", text],
  ["odd.name", text],
]);
const fail = (reason: string) => new AppError("invalid", reason);

/** What of these references a request may name, where `names` is configured. */
function allowed(names: readonly string[] | undefined, references: readonly string[]): string[] {
  const own = requestColumns(columns, names, fail);
  return references.filter((reference) => findColumn(reference, own) !== undefined);
}

const references = [
  "title",
  "Title",
  "odd.name",
  "meta",
  "meta.kind",
  "meta->>kind",
  "meta->'kind'->>'sub'",
  "meta.kindred",
  "meta.owner.kind",
];

Deno.test("requestColumns() lets requests name every column without a list, and none with an empty one", () => {
  assert.deepEqual(allowed(undefined, references), references);
  assert.deepEqual(allowed([], references), []);
});

Deno.test("requestColumns() takes names as they are written, and a JSON column with all its paths", () => {
  assert.deepEqual(allowed(["title", "title"], references), ["title"]);
  assert.deepEqual(allowed(["odd.name"], references), ["odd.name"]);
  assert.deepEqual(allowed(["meta"], references), references.filter((name) => name.startsWith("meta")));
  assert.deepEqual(allowed(["meta.kind", "meta"], ["meta", "meta.x"]), ["meta", "meta.x"]);
  assert.deepEqual(allowed(["meta", "meta.kind"], ["meta", "meta.x"]), ["meta", "meta.x"]);
});

Deno.test("requestColumns() takes a path into a JSON column, with what is inside of it and nothing else", () => {
  const kind = ["meta.kind", "meta->>kind", "meta->'kind'->>'sub'"];
  for (const name of kind.slice(0, 2)) assert.deepEqual(allowed([name], references), kind);
  assert.deepEqual(allowed(["meta.owner.kind"], [...references, "meta.owner"]), ["meta.owner.kind"]);
  assert.deepEqual(allowed(["meta.kind", "meta->>owner"], references), [...kind, "meta.owner.kind"]);
});

Deno.test("requestColumns() refuses a name that the table does not have, and says which", () => {
  for (const name of ["none", "TITLE", '"title"', "title.x", "title->>x", "", "meta.", "ctid", "source"]) {
    assert.throws(() => requestColumns(columns, ["title", name], fail), {
      message: `it has no column "${name}", which filter_columns names`,
    }, name);
  }
});

testWithPgvector("a column that filter_columns does not name is like one that does not exist", async () => {
  await using fixture = await createSearchFixture(`
    CREATE DOMAIN sly AS text CHECK (VALUE <> ''); CREATE TYPE state AS ENUM ('new');
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), topic text, meta jsonb, secret text,
      born date, pay numeric, state state, sly sly[], spot point, hidden jsonb)`);
  let reads = 0;
  const counting: typeof fixture.database = {
    ...fixture.database,
    read: (request) => (reads++, fixture.database.read(request)),
  };
  const table = await fixture.readTable({ table: "docs", filterColumns: ["topic", "meta->>kind"] });
  const check = (...conditions: readonly Condition[]) =>
    checkFilter(counting, [table], { conditions, logic: "OR" }, { signal });
  const topic = { column: "topic", operator: "=", value: "a" } as const;
  await check(topic, { column: "meta.kind", operator: "LIKE", value: "a%" });

  const hidden = [
    "id",
    "body",
    "embedding",
    "secret",
    "born",
    "pay",
    "state",
    "sly",
    "spot",
    "hidden",
    "meta",
  ];
  const paths = ["hidden.x", "hidden->>x", "meta.other", "meta->'kindred'", "meta->>0", "topic.x"];
  const system = [
    "ctid",
    "xmin",
    "cmax",
    "tableoid",
    "docs",
    "source",
    "source.secret",
    "docs.secret",
    "t",
    "*",
  ];
  const spelled = [
    "SECRET",
    '"secret"',
    "secret ",
    " secret",
    "secret::text",
    "lower(secret)",
    "Topic",
    '"topic"',
  ];
  for (const column of [...hidden, ...paths, ...system, ...spelled, "no_such"]) {
    for (const operator of operators) {
      for (const value of ["x", 1, true, null, ["x"], { a: 1 }]) {
        await assert.rejects(check(topic, { column, operator, value }), {
          code: "invalid",
          message: `filter.conditions[1].column: there is no column "${column}"`,
        }, `${column} ${operator}`);
      }
    }
  }
  assert.equal(reads, 0, "the database is not asked");
});

testWithPgvector(
  "system columns and whole rows are no columns, also where requests may name every column",
  async () => {
    await using fixture = await createSearchFixture(
      "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), gone text); ALTER TABLE docs DROP COLUMN gone",
    );
    const table = await fixture.readTable({ table: "docs" });
    const names = ["ctid", "xmin", "tableoid", "docs", "source", "gone", "........pg.dropped.4........"];
    for (const column of names) {
      const filter = { conditions: [{ column, operator: "IS NULL" }], logic: "AND" } as const;
      await assert.rejects(checkFilter(fixture.database, [table], filter, { signal }), {
        message: `filter.conditions[0].column: there is no column "${column}"`,
      });
    }
  },
);

testWithPgvector(
  "filter_columns binds neither the pipeline's own filter nor names what the table lacks",
  async () => {
    await using fixture = await createSearchFixture(
      "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), secret text)",
    );
    for (
      const filter of ["secret = 'x'", {
        conditions: [{ column: "secret", operator: "=", value: "x" }],
        logic: "AND",
      }] as const
    ) {
      const table = await fixture.readTable({ table: "docs", filter, filterColumns: [] });
      assert.ok(table.filter);
      assert.equal(table.requestColumns.size, 0);
    }
    await assert.rejects(fixture.readTable({ table: "docs", filterColumns: ["id", "year"] }), {
      code: "invalid",
      message: 'Cannot search table "docs": it has no column "year", which filter_columns names',
    });
  },
);
