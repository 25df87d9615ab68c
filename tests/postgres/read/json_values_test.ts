import assert from "node:assert/strict";
import { jsonValue, parseShallowJson, typeName } from "../../../src/postgres/read/json_values.ts";
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

const nested = (levels: number, inner = "") => "[".repeat(levels) + inner + "]".repeat(levels);

Deno.test("parseShallowJson() gives the value, or the text of what would overflow those who walk it", () => {
  assert.deepEqual(parseShallowJson('{"a": [1, "\\"[", "\\\\"]}'), { a: [1, '"[', "\\"] });
  assert.equal(Array.isArray(parseShallowJson(nested(200))), true);
  assert.equal(parseShallowJson(nested(201)), nested(201));
  assert.equal(parseShallowJson(nested(100_000)), nested(100_000));
  const objects = `${'{"a":'.repeat(201)}1${"}".repeat(201)}`;
  assert.equal(parseShallowJson(objects), objects);
});

Deno.test("parseShallowJson() counts no brackets in strings, and levels, not lists", () => {
  assert.equal(Array.isArray(parseShallowJson(nested(150, JSON.stringify(nested(1_000) + '\\"[')))), true);
  assert.equal((parseShallowJson(`[${Array(5_000).fill(nested(5)).join()}]`) as unknown[]).length, 5_000);
});
