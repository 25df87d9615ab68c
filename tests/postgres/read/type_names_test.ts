import assert from "node:assert/strict";
import { jsonValue, typeName } from "../../../src/postgres/read/type_names.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";

const jsonb = 3802;

Deno.test("jsonValue() of a JSON value is the value where each integer in it stays exact", () => {
  for (
    const text of [
      '{"a":[1,-2.50,0.1,true,null,"x"]}',
      "[9007199254740991,0.30000000000000004,1e3,-1.5E-7,100000000000000000000]",
      '{"id":"12345678901234567890","text":"\\"9007199254740993\\" 1e999"}',
      '{"avg":500.1234567890123456789,"tiny":0.0000000000000000000001,"more":1e-400}',
    ]
  ) {
    assert.deepEqual(jsonValue(text, jsonb), JSON.parse(text), text);
  }
});

Deno.test("jsonValue() of a JSON value is its text where an integer in it would change", () => {
  for (
    const text of [
      "9007199254740993",
      '{"a":{"id":1234567890123456789}}',
      "[1e400]",
      '["\\"1",-9007199254740993]',
      "10000000000000000000000000000000000000001",
    ]
  ) {
    assert.equal(jsonValue(text, jsonb), text);
  }
});

testWithPostgres("typeName() names types as PostgreSQL does", async () => {
  await using database = await createTestDatabase();
  const rows = await database.query(
    "SELECT oid, format_type(oid, NULL) FROM pg_type WHERE oid < 10000",
  );
  const short = (name: unknown) => String(name).replace(/^(time|timestamp) without time zone/, "$1");
  const wrong = rows.filter(([oid, name]) => !["other", short(name)].includes(typeName(Number(oid))));
  assert.deepEqual(wrong, []);
  assert.equal(typeName(4535), "datemultirange");
});
