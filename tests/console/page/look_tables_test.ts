import assert from "node:assert/strict";
import type { Column, Table } from "../../../console/catalog.ts";
import { findTables, referencesFrom, referencesTo, selectFirst } from "../../../console/look/look_tables.ts";

function column(name: string, fk_ref = ""): Column {
  const flags = { nullable: true, is_pk: false, is_unique: false, is_indexed: false };
  return {
    name,
    fk_ref,
    ...flags,
    data_type: "text",
    description: "",
    default: "",
    identity: "",
    labels: [],
  };
}

function table(schema: string, name: string, columns: Column[] = [], description = ""): Table {
  return { schema, name, columns, description, type: "TABLE", estimated_rows: -1 };
}

Deno.test("findTables() wants every word in the schema, the name or the comment, in capitals or not", () => {
  const orders = table("sales", "Orders", [], "One row for each parcel");
  const all = [orders, table("sales", "parcels"), table("public", "people")];
  assert.deepEqual(findTables(all, "PARCEL sales.ord"), [orders]);
  assert.deepEqual(findTables(all, "parcel people"), []);
  assert.deepEqual(findTables(all, "  "), all);
});

Deno.test("selectFirst() quotes all names", () => {
  const sql = selectFirst(table('we"ird', "a.b", [column("order"), column('"; DROP TABLE x')]), 20);
  assert.deepEqual(sql, 'SELECT "order", """; DROP TABLE x"\nFROM "we""ird"."a.b"\nLIMIT 20');
});

Deno.test("selectFirst() of a table without columns is a statement", () => {
  assert.deepEqual(selectFirst(table("public", "none"), 5), 'SELECT \nFROM "public"."none"\nLIMIT 5');
});

Deno.test("referencesTo() finds the other tables, whatever dots their names have", () => {
  const target = table("a", "b", [column("id"), column("parent", "a.b.id")]);
  const found = referencesTo([
    target,
    table("a", "c", [column("x", "a.b.id"), column("y", "a.b.parent"), column("z")]),
    // of the table `b.c`, not of `b`
    table("a", "d", [column("x", "a.b.c.id")]),
    table("other", "b", [column("x", "a.b.id")]),
  ], target);
  assert.deepEqual(found, [
    { schema: "a", table: "c", keys: ["x → id", "y → parent"] },
    { schema: "other", table: "b", keys: ["x → id"] },
  ]);
});

Deno.test("referencesFrom() keeps a key of several columns whole, and names each table once", () => {
  const to = (table: string, ...columns: string[]) => ({ schema: "public", table, columns });
  const found = referencesFrom([
    { columns: ["billing"], references: to("address", "id") },
    { columns: ["x", "y"], references: to("places", "a", "b") },
    { columns: ["shipping"], references: to("address", "id") },
  ]);
  assert.deepEqual(found, [
    { schema: "public", table: "address", keys: ["billing → id", "shipping → id"] },
    { schema: "public", table: "places", keys: ["x, y → a, b"] },
  ]);
});
