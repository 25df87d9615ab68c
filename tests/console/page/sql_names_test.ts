import { deepEqual, equal } from "node:assert/strict";
import {
  looksLikeSql,
  mentionedTables,
  sqlName,
  sqlTable,
  withArguments,
} from "../../../console/sql_names.ts";

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

Deno.test("looksLikeSql() tells statements that are being written from words", () => {
  for (
    const sql of [
      "select na",
      "  SELECT",
      "-- all of them\nSELECT",
      "(select",
      "with recursive a (n) as (select",
      "explain analyze sel",
      "EXPLAIN (ANALYZE) ",
      "table cust",
      "values (",
    ]
  ) equal(looksLikeSql.test(sql), true, sql);
  for (
    const words of [
      "show me all customers who",
      "with how many customers did we",
      "explain why orders",
      "table of all cust",
      "values of all ord",
      "selections of cust",
      "How many orders",
      "",
    ]
  ) equal(looksLikeSql.test(words), false, words);
});
