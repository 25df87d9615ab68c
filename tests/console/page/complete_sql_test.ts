import { equal } from "node:assert/strict";
import { looksLikeSql } from "../../../console/ask/complete_sql.ts";

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
