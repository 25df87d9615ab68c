import assert from "node:assert/strict";
import fc from "fast-check";
import { loadModule, parseSync, scanSync } from "libpg-query";
import { estimateNesting } from "../../../src/postgres/guard/nesting.ts";
import { readTokens } from "../../../src/postgres/guard/tokens.ts";

await loadModule();

const pieces = [
  "SELECT",
  "FROM",
  "WHERE",
  "AND",
  "OR",
  "NOT",
  "CASE",
  "WHEN",
  "THEN",
  "END",
  "UNION",
  "JOIN",
  "(",
  ")",
  "[",
  "]",
  ",",
  ";",
  "'a'",
  "'it''s'",
  "'a\\'",
  "E'a\\''",
  "e'\\\\'",
  "U&'\\0041'",
  "N'x'",
  "B'1'",
  "$$a,b$$",
  "$t$ ( $$ $t$",
  "a$b$c",
  "$1",
  '"q,""("',
  '"',
  "'",
  "--x,(\n",
  "--(\r",
  "/* ( , */",
  "/* /* */ ( */",
  "/*",
  "*/",
  "+",
  "-",
  "--",
  "::",
  "1",
  "1.5e3",
  "x",
  "é",
  "😀",
  "_a",
  " ",
  "\n",
  "\t",
  "\v",
  "\f",
  "\u00a0",
  "\uFEFF",
  "case",
  "end",
  "Union",
];

Deno.test("readTokens() sees the brackets and commas that PostgreSQL's scanner sees", () => {
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, (sql) => {
      const scanned = scan(sql);
      if (scanned === undefined) return;
      const isMark = (token: string) =>
        /^[()[\],;]$/.test(token) || /^(case|end|union|join|and|or)$/i.test(token);
      assert.deepEqual([...readTokens(sql)].filter(isMark), scanned.filter(isMark), JSON.stringify(sql));
    }),
    { numRuns: 20_000 },
  );
});

Deno.test("estimateNesting() is no less than the depth of the tree", () => {
  const expression = fc.letrec((tie) => ({
    e: fc.oneof(
      { depthSize: "large", withCrossShrink: true },
      fc.constantFrom("1", "a", "'x,('", "b.c"),
      fc.tuple(tie("e"), fc.constantFrom("+", "||", "=", " AND ", " OR "), tie("e")).map(([a, op, b]) =>
        `(${a}${op}${b})`
      ),
      fc.tuple(tie("e"), tie("e")).map(([a, b]) => `f(${a}, ${b})`),
      tie("e").map((a) => `NOT ${a}`),
      tie("e").map((a) => `(SELECT ${a} UNION SELECT 1)`),
      tie("e").map((a) => `CASE WHEN ${a} THEN 1 ELSE ${a} END`),
      tie("e").map((a) => `ARRAY[${a}]`),
    ),
  })).e;
  fc.assert(
    fc.property(expression, (e) => {
      const sql = `SELECT ${e}`;
      assert.ok(estimateNesting(readTokens(sql)) + 3 >= selectDepth(parseSync(sql)), sql);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("estimateNesting() counts what chains to the left past commas and conditions", () => {
  assert.ok(estimateNesting(readTokens(`SELECT 1,1${" UNION SELECT 1,1".repeat(500)}`)) >= 500);
  assert.ok(estimateNesting(readTokens(`SELECT 1 FROM a${" JOIN b ON a AND b".repeat(500)}`)) >= 500);
  assert.ok(estimateNesting(readTokens("/*".repeat(51) + "*/".repeat(51))) > 2_000);
});

Deno.test("estimateNesting() is small for what is long but flat", () => {
  const list = Array.from({ length: 10_000 }, (_, i) => i).join(", ");
  assert.ok(estimateNesting(readTokens(`SELECT 1 FROM t WHERE id IN (${list})`)) < 20);
  assert.ok(estimateNesting(readTokens(`SELECT 1 FROM t WHERE ${"a = 1 OR ".repeat(1_000)} b`)) < 20);
});

/** The scanner's tokens; undefined where it refuses the text. */
function scan(sql: string): string[] | undefined {
  try {
    return scanSync(sql).tokens.map((token) => token.text);
  } catch {
    return undefined;
  }
}

/** Nodes of expressions and queries on the longest way down. */
function selectDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const below = Math.max(0, ...Object.values(value).map(selectDepth));
  const counts = !Array.isArray(value) &&
    Object.keys(value).some((key) => /^(A_Expr|FuncCall|BoolExpr|SubLink|CaseExpr|A_ArrayExpr)$/.test(key));
  return below + (counts ? 1 : 0);
}
