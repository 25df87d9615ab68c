import { deepEqual, equal } from "node:assert/strict";
import { mentionedTables, sqlName, sqlTable, withArguments } from "../../../console/sql_names.ts";

Deno.test("sqlName() quotes what PostgreSQL would read otherwise", () => {
  deepEqual(
    ["orders", "Orders", "order", "a b", 'say "a"', "1st", "größe"].map(
      sqlName,
    ),
    [
      "orders",
      '"Orders"',
      '"order"',
      '"a b"',
      '"say ""a"""',
      '"1st"',
      '"größe"',
    ],
  );
});

Deno.test("sqlTable() leaves out public alone", () => {
  equal(sqlTable({ schema: "public", name: "user" }), '"user"');
  equal(sqlTable({ schema: "Sales", name: "orders" }), '"Sales".orders');
});

Deno.test("withArguments() writes arguments out, and leaves those that are missing", () => {
  equal(
    withArguments("SELECT $1::int, $10, $2", ["it's", "a\\b"]),
    "SELECT 'it''s'::int, $10, 'a\\b'",
  );
});

Deno.test("mentionedTables() finds tables with their schemas and other names", () => {
  const tables = [["public", "orders"], ["Sales", "Lines"]];
  const found = mentionedTables(
    'SELECT o. FROM Orders AS o JOIN "Sales"."Lines" l ON true, nothing n',
    (name, schema) => tables.find(([inSchema, table]) => table === name && (schema ?? inSchema) === inSchema),
  );
  deepEqual(found.map(({ table, alias }) => [table[1], alias]), [[
    "orders",
    "o",
  ], ["Lines", "l"]]);
});
