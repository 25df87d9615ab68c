import type { HostileStatement } from "./hostile_statement.ts";

const around = (before: string, inner: string, after: string, depth: number) =>
  `SELECT ${before.repeat(depth)}${inner}${after.repeat(depth)}`;

/** What exhausts a recursive parser, or whatever walks its tree; run many times over in the test. */
export const deepNesting: readonly HostileStatement[] = [
  { name: "20,000 additions", sql: `SELECT 1${"+1".repeat(20_000)}` },
  { name: "10,000 additions", sql: `SELECT 1${"+1".repeat(10_000)}` },
  { name: "20,000 comparisons in brackets", sql: around("(", "1", ")", 20_000) },
  { name: "5,000 brackets", sql: around("(", "1", ")", 5_000) },
  { name: "3,000 subqueries", sql: around("(SELECT ", "1", ")", 3_000) },
  {
    name: "2,000 subqueries in FROM",
    sql: `SELECT * FROM ${"(SELECT * FROM ".repeat(2_000)}orders${") a".repeat(2_000)}`,
  },
  { name: "6,000 UNIONs", sql: `SELECT 1${" UNION SELECT 1".repeat(6_000)}` },
  { name: "4,000 UNIONs with commas", sql: `SELECT 1,1${" UNION SELECT 1,1".repeat(4_000)}` },
  { name: "8,000 NOTs", sql: around("NOT ", "true", "", 8_000) },
  { name: "20,000 signs", sql: around("- ", "1", "", 20_000) },
  { name: "8,000 casts", sql: around("", "1", "::int", 8_000) },
  { name: "10,000 subscripts", sql: around("", "a", "[1]", 10_000) },
  { name: "3,000 CASEs", sql: around("CASE WHEN true AND true THEN ", "1", " END", 3_000) },
  { name: "4,000 joins", sql: `SELECT 1 FROM a${" JOIN b ON a AND b".repeat(4_000)}` },
  { name: "5,000 calls", sql: around("abs(", "1", ")", 5_000) },
  { name: "5,000 arrays", sql: around("ARRAY[", "1", "]", 5_000) },
  { name: "30,000 concatenations", sql: `SELECT 'a'${"||'a'".repeat(20_000)}` },
  {
    name: "nesting hidden behind a string with commas",
    sql: `SELECT ${"(SELECT ','||".repeat(3_000)}1${")".repeat(3_000)}`,
  },
  {
    name: "nesting hidden behind comments",
    sql: `SELECT ${"(SELECT/*,*/ ".repeat(3_000)}1${")".repeat(3_000)}`,
  },
  { name: "more than is read", sql: `SELECT ${"1,".repeat(100_000)}1`, refusedWith: "longer than" },
  { name: "20,000 comments in one another", sql: `SELECT ${"/*".repeat(20_000)}${"*/".repeat(20_000)} 1` },
  { name: "6,000 subqueries side by side", sql: `SELECT 1 FROM ${"(SELECT 1) x,".repeat(6_000)} y` },
  { name: "keywords as names behind dots", sql: `SELECT 1${"::a.on".repeat(16_000)}` },
  { name: "keywords as names of collations", sql: `SELECT 'x'${" COLLATE a.on".repeat(7_000)}` },
  { name: "END as a label", sql: `SELECT ${"(SELECT 1 AS end,".repeat(1_900)}1${")".repeat(1_900)}` },
  { name: "END as a label without AS", sql: `SELECT ${"(SELECT 1 end,".repeat(1_900)}1${")".repeat(1_900)}` },
  { name: "END as a column", sql: `SELECT ${"(a.end,".repeat(1_900)}1${")".repeat(1_900)}` },
  {
    name: "rows in rows",
    sql: `SELECT ${"(1,".repeat(1_450)}1${")".repeat(1_450)}`,
    refusedWith: "too deep",
  },
  { name: "AND of BETWEEN", sql: `SELECT 1 ${"BETWEEN 1 AND NOT 1 ".repeat(4_500)}` },
  { name: "CASE in ELSE", sql: `SELECT ${"CASE WHEN a THEN 1 ELSE ".repeat(3_000)}1${" END".repeat(3_000)}` },
  {
    name: "functions in functions",
    sql: "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1, 1; ".repeat(1_500),
  },
  { name: "24,000 comments", sql: `SELECT 1 ${"/**/".repeat(24_000)}`, refusedWith: "comments" },
  { name: "an unended comment", sql: `SELECT ${"/*".repeat(40_000)}` },
  { name: "dollar quotes that do not end", sql: `SELECT ${"$a$ $b$ ".repeat(10_000)}$c$` },
];
