import assert from "node:assert/strict";
import { allowedValues } from "../../../src/postgres/catalog/allowed_values.ts";
import { readCatalog } from "../../../src/postgres/catalog/catalog.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createCatalogFixture, request } from "./catalog_fixture.ts";

const cases: readonly (readonly [expression: string, values: readonly string[]])[] = [
  ["(status = ANY (ARRAY['new'::text, 'paid'::text]))", ["new", "paid"]],
  ["((kind)::text = ANY ((ARRAY['a'::character varying, 'it''s'::character varying])::text[]))", [
    "a",
    "it's",
  ]],
  ["((kind)::text = ANY (ARRAY[('a'::character varying)::text, ('b'::character varying)::text]))", [
    "a",
    "b",
  ]],
  ["(VALUE = ANY (ARRAY['x'::bpchar]))", ["x"]],
  ["(n = ANY (ARRAY[1, '-2'::integer, (-3), 4.5, (6)::numeric(12,2)]))", ["1", "-2", "-3", "4.5", "6"]],
  ["((a = 'x'::text) OR (a = 'y'::text) OR (a IS NULL))", ["x", "y"]],
  ["(a = ANY ('{x,y}'::text[]))", ["x", "y"]],
  ["(at = '2020-01-01 00:00:00'::timestamp(3) without time zone)", ["2020-01-01 00:00:00"]],
  [`("Größe" = ANY (ARRAY['(a OR b)'::public.citext, E'back\\\\slash'::text]))`, ["(a OR b)", "back\\slash"]],
  ["(a IS NULL)", []],
  ["(lower(a) = ANY (ARRAY['x'::text]))", []],
  ["(a <> ALL (ARRAY['x'::text]))", []],
  ["((a = 'x'::text) AND (b = 'y'::text))", []],
  ["(NOT (a = 'x'::text))", []],
  ["((n >= 0) AND (n <= 10))", []],
  ["((n = 1) OR (n > 5))", []],
  ["(a ~ '^[ab]$'::text)", []],
  ["(n = ANY (ARRAY[1, (1 + 1)]))", []],
  ["((a || 'x'::text) = 'yx'::text)", []],
];
for (const [expression, values] of cases) {
  Deno.test(`allowedValues() of ${expression}`, () => assert.deepEqual(allowedValues([expression]), values));
}

Deno.test("allowedValues() takes what all lists have in common", () => {
  const list = (...values: string[]) =>
    `(a = ANY (ARRAY[${values.map((value) => `'${value}'::text`).join(", ")}]))`;
  assert.deepEqual(allowedValues([list("x", "y", "z"), "(length(a) = 1)", list("z", "x")]), ["x", "z"]);
  assert.deepEqual(allowedValues([]), []);
});

testWithPostgres("the catalog has the values that PostgreSQL's CHECK constraints list", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE DOMAIN grade AS text CHECK (VALUE IN ('good', 'bad', 'odd'));
    CREATE DOMAIN short_grade AS grade CHECK (VALUE <> 'x') CHECK (VALUE IN ('good', 'bad'));
    CREATE TABLE checked (
      a text CHECK (a IN ('x', 'y''z')),
      b varchar(5) NOT NULL DEFAULT 'p' CHECK (b IN ('p', 'q')),
      c char(1) CHECK (c = 'm' OR c = 'f'),
      d int CHECK (d IN (1, -2)),
      e grade,
      f short_grade,
      g text CHECK (g = ANY ('{u,v}')),
      h text CHECK (lower(h) IN ('n')),
      "I J" text,
      k text,
      l text,
      CONSTRAINT named CHECK ("I J" IN ('one', 'two')),
      CHECK (k IN ('a') OR l IN ('b'))
    );
    INSERT INTO checked (b) VALUES ('p');
    ALTER TABLE checked ADD CONSTRAINT late CHECK (k IN ('k1')) NOT VALID`);
  const { tables: [table] } = await readCatalog(fixture.database, request);
  assert.deepEqual(
    Object.fromEntries(table?.columns.map((column) => [column.name, column.allowedValues]) ?? []),
    {
      a: ["x", "y'z"],
      b: ["p", "q"],
      c: ["m", "f"],
      d: ["1", "-2"],
      e: ["good", "bad", "odd"],
      f: ["good", "bad"],
      g: ["u", "v"],
      h: [],
      "I J": ["one", "two"],
      k: [],
      l: [],
    },
  );
});
