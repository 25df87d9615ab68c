import assert from "node:assert/strict";
import type { CatalogColumn, CatalogTable } from "../../../../src/postgres/catalog/catalog.ts";
import {
  columnsToSearch,
  readTableName,
  tableWithVectors,
} from "../../../../src/tool_server/tools/documents/searched_columns.ts";
import { buildCatalogColumn } from "../../questions/build_catalog.ts";

function column(name: string, type: string, more: Partial<CatalogColumn> = {}): CatalogColumn {
  const vector = /^vector(?:\((\d+)\))?$/.exec(type);
  return buildCatalogColumn(name, type, {
    ...(vector !== null && { vectorDimensions: Number(vector[1] ?? 0) }),
    ...more,
  });
}

function table(schema: string, ...columns: CatalogColumn[]): CatalogTable {
  return {
    schema,
    name: "docs",
    kind: "TABLE",
    comment: "",
    estimatedRows: 1,
    columns,
    indexes: [],
    foreignKeys: [],
  };
}

const model = { dimensions: 8, model: "m" };
const chosen = (...columns: CatalogColumn[]) => {
  const { textColumn, vectorColumn, titleColumn } = columnsToSearch(
    "docs",
    table("public", ...columns),
    model,
  );
  return [textColumn, vectorColumn, titleColumn];
};

Deno.test("a name is tried as it is written, with its schema, and in small letters", () => {
  assert.deepEqual(readTableName("docs"), [{ table: "docs" }]);
  assert.deepEqual(readTableName("app.Docs"), [
    { table: "app.Docs" },
    { schema: "app", table: "Docs" },
    { table: "app.docs" },
    { schema: "app", table: "docs" },
  ]);
  assert.deepEqual(readTableName('app."a b"')[1], { schema: "app", table: "a b" });
});

Deno.test("of tables with one name, the one with vectors is meant; of several such the caller chooses", () => {
  const [bare, one, other] = [
    table("a", column("body", "text")),
    table("b", column("v", "vector(8)")),
    table("c", column("v", "vector")),
  ];
  assert.equal(tableWithVectors("docs", [bare, one]), one);
  assert.throws(
    () => tableWithVectors("docs", [one, other]),
    /several schemas have it; name one of b.docs, c.docs/,
  );
  assert.throws(() => tableWithVectors("docs", [bare]), /no column of pgvector's/);
  assert.throws(() => tableWithVectors("docs", []), /no such table that you may read/);
});

Deno.test("the text is the one that the vectors are named after, else one with a usual name, else the first that says something", () => {
  assert.deepEqual(
    chosen(column("content", "text"), column("abstract", "text"), column("abstract_embedding", "vector(8)")),
    ["abstract", "abstract_embedding", undefined],
  );
  assert.deepEqual(
    chosen(
      column("name", "text"),
      column("body", "character varying(900)"),
      column("embedding", "vector(8)"),
    ),
    ["body", "embedding", "name"],
  );
  assert.deepEqual(
    chosen(
      column("code", "text"),
      column("title", "text"),
      column("tags", "text[]"),
      column("remark", "text"),
      column("v", "vector"),
    ),
    ["remark", "v", "title"],
  );
  assert.deepEqual(chosen(column("title", "text"), column("v", "vector(8)")), ["title", "v", undefined]);
});

Deno.test("the vectors are those of the model's length", () => {
  const columns = [
    column("old_embedding", "vector(3)"),
    column("any", "vector"),
    column("new_embedding", "vector(8)"),
  ];
  assert.deepEqual(chosen(column("body", "text"), ...columns)[1], "new_embedding");
  assert.deepEqual(chosen(column("body", "text"), ...columns.slice(0, 2))[1], "any");
  assert.throws(
    () => chosen(column("body", "text"), ...columns.slice(0, 1)),
    /old_embedding has 3 dimensions, but model m makes 8; embedding in the configuration has to name the model/,
  );
});
