import assert from "node:assert/strict";
import { escapePattern, quoteIdentifier, quoteLiteral } from "../../../src/llm/local/quote_sql.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";

Deno.test("quoteIdentifier() quotes only what needs it", () => {
  assert.equal(quoteIdentifier("order_lines"), "order_lines");
  assert.equal(quoteIdentifier("order"), '"order"');
  assert.equal(quoteIdentifier("Total"), '"Total"');
  assert.equal(quoteIdentifier('a"b c'), '"a""b c"');
  assert.equal(quoteIdentifier("1st"), '"1st"');
  assert.equal(quoteIdentifier(""), '""');
});

Deno.test("quoteLiteral() doubles quotes, and backslashes under E", () => {
  assert.equal(quoteLiteral("O'Brien"), "'O''Brien'");
  assert.equal(quoteLiteral("a\\'b"), "E'a\\\\''b'");
  assert.equal(escapePattern("50%_\\"), "50\\%\\_\\\\");
});

testWithPostgres("quoteIdentifier() quotes every keyword that PostgreSQL would quote", async () => {
  await using database = await createTestDatabase();
  const rows = await database.query("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'");
  const bare = rows.map(([word]) => String(word)).filter((word) => quoteIdentifier(word) === word);
  assert.deepEqual(bare, []);
});

testWithPostgres(
  "quoteLiteral() means the same under both settings of standard_conforming_strings",
  async () => {
    await using database = await createTestDatabase();
    for (const setting of ["on", "off"]) {
      const [row] = await database.query(
        `SET standard_conforming_strings = ${setting}; SELECT ${quoteLiteral("a\\'b\\n")}`,
      );
      assert.deepEqual(row, ["a\\'b\\n"]);
    }
  },
);
