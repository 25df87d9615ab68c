import assert from "node:assert/strict";
import { checkColumns } from "../../../src/rag_server/filter/check_columns.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();

const setUp = `
CREATE FUNCTION careless(text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE FUNCTION careful(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
CREATE DOMAIN sly AS text CHECK (careless(VALUE)); CREATE DOMAIN good AS text CHECK (careful(VALUE));
CREATE TYPE pair AS (a sly, b int); CREATE TYPE odd AS ENUM ('x'); CREATE TYPE mood AS ENUM ('x');
CREATE FUNCTION odd_equal(odd, odd) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE OPERATOR = (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_equal);
CREATE TABLE "Docs" (id int PRIMARY KEY, body text, embedding vector(2), plain sly, list sly[], pair pair, pairs pair[],
  odd odd, goods good[], moods mood[], mood mood, tags text[], period int4range);
`;

testWithPgvector("a filter may not name a column whose type runs a VOLATILE function", async () => {
  await using fixture = await createSearchFixture(setUp);
  const table = await fixture.readTable({ table: '"Docs"' });
  const check = (column: string) =>
    checkColumns(
      fixture.database,
      table,
      { conditions: [{ column, operator: "=", value: "x" }], logic: "AND" },
      { signal },
    );
  for (const column of ["list", "pair", "pairs", "odd"]) {
    await assert.rejects(check(column), {
      code: "invalid",
      message: /^filter\.conditions\[0\]\.column: .* is VOLATILE/,
    }, column);
  }
  // a domain itself is compared as the type below it
  for (const column of ["plain", "goods", "moods", "mood", "tags", "period", "body"]) await check(column);
});
