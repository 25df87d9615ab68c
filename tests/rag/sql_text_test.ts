import assert from "node:assert/strict";
import { renderSql, sql, verbatim } from "../../src/rag/sql_text.ts";

Deno.test("sql puts pieces in as they are and makes the rest parameters, numbered when rendered", () => {
  const filter = sql`color = ${"green"} AND size > ${3}`;
  const whole = sql`SELECT ${verbatim('"a$1"')} FROM t WHERE ${"first"} = x AND (${filter}) OR y = ${null}`;
  assert.deepEqual(renderSql(whole), {
    sql: 'SELECT "a$1" FROM t WHERE $1 = x AND (color = $2 AND size > $3) OR y = $4',
    parameters: ["first", "green", "3", null],
  });
  assert.deepEqual(renderSql(sql`SELECT 1`), { sql: "SELECT 1", parameters: [] });
  assert.deepEqual(renderSql(sql`${sql`${"a"}${"b"}`}`), { sql: "$1$2", parameters: ["a", "b"] });
});
