import type { HostileStatement } from "./hostile_statement.ts";

/** They run, and are stopped by the bounds on rows, bytes and time. */
export const endlessAnswers: readonly HostileStatement[] = [
  {
    name: "a billion rows",
    sql: "SELECT a.g, b.g FROM generate_series(1, 32000) a(g), generate_series(1, 32000) b(g)",
    mayRun: true,
  },
  {
    name: "rows without end",
    sql: "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
    mayRun: true,
  },
  {
    name: "a count without end",
    sql: "SELECT count(*) FROM generate_series(1, 1000000000000)",
    mayRun: true,
  },
  { name: "wide rows", sql: "SELECT repeat('x', 100000) FROM generate_series(1, 100000)", mayRun: true },
  {
    name: "one wide row",
    sql: "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 30000)",
    mayRun: true,
  },
  { name: "a slow pattern", sql: "SELECT repeat('a', 5000) ~ '(a|aa)+$|(a+)+b'", mayRun: true },
  {
    name: "a pattern that is too large",
    sql: "SELECT 'x' ~ '((((a{1,250}){1,250}){1,250}){1,250})'",
    mayRun: true,
  },
  {
    name: "a JSON path over everything",
    sql: "SELECT jsonb_path_query('[[[[1]]]]', '$.**.**.**.**.**.**')",
    mayRun: true,
  },
  {
    name: "entities in XML",
    sql:
      `SELECT xmlparse(DOCUMENT '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;">]><a>&g;&g;&g;&g;</a>')`,
    mayRun: true,
  },
  {
    name: "an entity that is a file",
    sql: `SELECT xmlparse(DOCUMENT '<!DOCTYPE a [<!ENTITY b SYSTEM "file://@canary@">]><a>&b;</a>')`,
    mayRun: true,
  },
];
