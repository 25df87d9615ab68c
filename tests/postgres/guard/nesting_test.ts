import assert from "node:assert/strict";
import fc from "fast-check";
import { compileGrammar, loadGrammar, loadParser } from "../../../src/postgres/guard/parser.ts";
import { loadModule, parseSync, scanSync } from "libpg-query";
import { estimateNesting, readTokens } from "../../../src/postgres/guard/nesting.ts";

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

Deno.test("readTokens() sees what a string hides or shows that goes on in a new line", () => {
  for (
    const sql of [
      "e''\n'\\''((",
      "E'a' \t\r\n\t 'b\\''((",
      "E'a' --\n''((",
      "e'\\\\'\n'a\\'('",
      "e'' '\\'((",
      "''\n'\\'((",
    ]
  ) {
    const brackets = (tokens: Iterable<string>) => [...tokens].filter((token) => token === "(");
    assert.deepEqual(
      brackets(readTokens(sql)),
      brackets(scanSync(sql).tokens.map((token) => token.text)),
      JSON.stringify(sql),
    );
  }
});

Deno.test("estimateNesting() is no less than the depth of the tree", () => {
  const expression = fc.letrec((tie) => ({
    e: fc.oneof(
      { depthSize: "large", withCrossShrink: true },
      fc.constantFrom("1", "a", "'x,('", "b.c", "b.or", "b.and.case", "b.end", "a.join"),
      tie("e").map((a) => `${a}::t.or`),
      tie("e").map((a) => `(SELECT 1 AS end, ${a})`),
      tie("e").map((a) => `(SELECT 1 when, - - ${a} FROM a JOIN b ON c AND ${a})`),
      tie("e").map((a) => `NOT x BETWEEN 1 AND NOT ${a}`),
      tie("e").map((a) => `CASE WHEN NOT ${a} THEN 1 WHEN b THEN 2 ELSE NOT ${a} END`),
      tie("e").map((a) => `a[${a}]`),
      tie("e").map((a) => `f() OVER (ORDER BY 1, ${a})`),
      tie("e").map((a) => `EXISTS (WITH a AS (SELECT 1), b AS (VALUES (1, ${a})) SELECT 1)`),
      tie("e").map((a) => `(SELECT 1 FROM f(1), ROWS FROM (f(1), f(${a})))`),
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
      assert.ok(estimateNesting(readTokens(sql)) + 6 >= nodeDepth(parseSync(sql)), sql);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("estimateNesting() counts what chains to the left past commas and conditions", () => {
  assert.ok(estimateNesting(readTokens(`SELECT 1,1${" UNION SELECT 1,1".repeat(500)}`)) >= 500);
  assert.ok(estimateNesting(readTokens(`SELECT 1 FROM a${" JOIN b ON a AND b".repeat(500)}`)) >= 500);
  assert.ok(estimateNesting(readTokens("/*".repeat(51) + "*/".repeat(51))) > 2_000);
});

Deno.test("estimateNesting() takes no word behind a dot or AS for what it is elsewhere", () => {
  for (const word of ["or", "and", "when", "then", "else", "union", "case", "end", "on"]) {
    assert.ok(estimateNesting(readTokens(`SELECT 1${`::a.${word}`.repeat(500)}`)) >= 500, word);
    assert.ok(
      estimateNesting(readTokens(`SELECT ${`(SELECT 1 AS ${word}, `.repeat(500)}1${")".repeat(500)}`)) >=
        1_500,
      word,
    );
  }
});

Deno.test("a parser that overflows goes on with a fresh grammar", async () => {
  const grammar = await compileGrammar();
  const parser = await loadParser({ grammar, deepest: 1_000_000 });
  const deep = `SELECT 1${"::a.b".repeat(19_000)}`;
  for (let round = 0; round < 100; round++) {
    assert.ok(!parser.parse(deep).ok);
    if (round % 10 === 9) await loadGrammar(grammar);
    assert.ok(parser.parse("SELECT 1").ok, `round ${round}`);
  }
  assert.ok(parser.parse("SELECT 1 FROM t WHERE a = 1").ok);
  assert.equal(parser.fingerprint("SELECT 1"), parser.fingerprint("select  2"));
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

/** Nodes on the longest way down; what says which type a node is of begins with a capital letter. */
function nodeDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const below = Math.max(0, ...Object.values(value).map(nodeDepth));
  const isNode = !Array.isArray(value) && Object.keys(value).some((key) => /^[A-Z]/.test(key));
  return below + (isNode ? 1 : 0);
}
