import assert from "node:assert/strict";
import {
  arrayText,
  identifierSql,
  nameOf,
  quoteIdentifier,
  quoteIfNeeded,
  quoteLiteral,
  quoteParts,
  renderSql,
  sql,
  verbatim,
} from "../../src/postgres/sql_text.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";

Deno.test("sql puts pieces in as they are and makes the rest parameters, numbered when rendered", () => {
  const filter = sql`color = ${"green"} AND size > ${3}`;
  const whole = sql`SELECT ${verbatim('"a$1"')} FROM t WHERE ${"first"} = x AND (${filter}) OR y = ${null}`;
  assert.deepEqual(renderSql(whole), {
    sql: 'SELECT "a$1" FROM t WHERE $1 = x AND (color = $2 AND size > $3) OR y = $4',
    parameters: ["first", "green", "3", null],
  });
  assert.deepEqual(renderSql(sql`SELECT 1`), { sql: "SELECT 1", parameters: [] });
  assert.deepEqual(renderSql(sql`${sql`${"a"}${"b"}`}`), { sql: "$1$2", parameters: ["a", "b"] });
  assert.deepEqual(renderSql(sql`SELECT ${identifierSql('a"b')}`), { sql: `SELECT "a""b"`, parameters: [] });
});

Deno.test("quoteIdentifier() quotes all, quoteParts() each part, quoteIfNeeded() only what needs it", () => {
  assert.equal(quoteIdentifier("order_lines"), '"order_lines"');
  assert.equal(quoteIdentifier('a"b.c'), '"a""b.c"');
  assert.equal(quoteParts("public.Pages"), '"public"."Pages"');
  assert.equal(quoteIfNeeded("order_lines"), "order_lines");
  assert.equal(quoteIfNeeded("order"), '"order"');
  assert.equal(quoteIfNeeded("Total"), '"Total"');
  assert.equal(quoteIfNeeded('a"b c'), '"a""b c"');
  assert.equal(quoteIfNeeded("1st"), '"1st"');
  assert.equal(quoteIfNeeded(""), '""');
});

Deno.test("nameOf() is the name that an identifier stands for", () => {
  assert.equal(nameOf("Pages"), "pages");
  assert.equal(nameOf('"Pages"'), "Pages");
  assert.equal(nameOf(quoteIdentifier('a"b')), 'a"b');
});

Deno.test("quoteLiteral() doubles quotes, and backslashes under E; NUL has no literal", () => {
  assert.equal(quoteLiteral("O'Brien"), "'O''Brien'");
  assert.equal(quoteLiteral("a\\'b"), "E'a\\\\''b'");
  assert.throws(() => quoteLiteral("a\0b"), { code: "invalid" });
});

testWithPostgres("quoteIfNeeded() quotes every keyword that PostgreSQL would quote", async () => {
  await using database = await createTestDatabase();
  const rows = await database.query("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'");
  const bare = rows.map(([word]) => String(word)).filter((word) => quoteIfNeeded(word) === word);
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

testWithPostgres("arrayText() is read as the same texts", async () => {
  await using database = await createTestDatabase();
  const items = ["a,b", 'say "no"', "back\\slash", "NULL", "", " {x} "];
  const [row] = await database.query(`SELECT array_to_json(${quoteLiteral(arrayText(items))}::text[])::text`);
  assert.deepEqual(JSON.parse(String(row?.[0])), items);
});
