import assert from "node:assert/strict";
import { checkFilter } from "../../../src/rag_server/filter/check_filter.ts";
import { compileFilter } from "../../../src/rag_server/filter/compile_filter.ts";
import { renderSql, sql } from "../../../src/postgres/sql_text.ts";
import type { Condition } from "../../../src/rag_server/query.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

const { signal } = new AbortController();

/** A value of each type, and texts that are none. */
const types: Readonly<Record<string, readonly [good: unknown, ...bad: unknown[]]>> = {
  interval: ["1 day", "x", 1e300],
  bytea: ["\\x00", "\\xz", "\\"],
  money: ["12.50", "x"],
  bit: ["1", "2"],
  int4range: ["[1,5)", "[5,1]", "x"],
  "public.vector": ["[1,2]", "[x", "[]"],
  oid: [17, "x", -1e12],
  tsvector: ["abc", "abc\\", "'"],
  cidr: ["10.0.0.0/8", "10.0.0.1/8"],
  macaddr: ["08:00:2b:01:02:03", "x"],
  regclass: ["pg_catalog.pg_class", "no_such", "no.such", "a.b.c.d"],
  'mood"y': ["(1,2)", "(1,x)", "(1,0)"],
};

const setUp = `CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE TYPE "mood""y" AS (a int, b positive);
  CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), spot point, mark xml, spans interval[], ${
  Object.keys(types).map((type, at) => `c${at} ${type.includes('"') ? '"mood""y"' : type}`).join(", ")
})`;

testWithPgvector("PostgreSQL judges the values that it alone can judge, without a table", async () => {
  await using fixture = await createSearchFixture(setUp);
  const table = await fixture.readTable({ table: "docs" });
  await fixture.admin.query("DROP TABLE docs");
  const check = (...conditions: readonly Condition[]) =>
    checkFilter(fixture.database, [table], { conditions, logic: "OR" }, { signal });
  const refused = async (condition: Condition, reason: string) => {
    const before = [{ column: "id", operator: "=", value: 1 }, {
      column: "c0",
      operator: "=",
      value: "2 days",
    }] as const;
    await assert.rejects(check(...before, condition), {
      code: "invalid",
      message: "filter.conditions[2]: the operator or the value does not fit the column's type",
    }, reason);
  };
  for (const [at, [type, [good, ...bad]]] of Object.entries(types).entries()) {
    const column = `c${at}`;
    await check({ column, operator: "=", value: good }, { column, operator: "NOT IN", value: [good] });
    for (const value of bad) {
      await refused({ column, operator: "!=", value }, `${type} ${value}`);
      await refused({ column, operator: "IN", value: [good, value] }, `${type} ${value} in a list`);
    }
  }
  // a point has no equality, as a value of XML has none
  await refused({ column: "spot", operator: "=", value: "(1,2)" }, "point");
  await refused({ column: "mark", operator: "=", value: "<a/>" }, "xml");
  await check({ column: "spans", operator: "=", value: "1 day" });
  await refused({ column: "spans", operator: "IN", value: ["1 day", "x"] }, "interval[]");
});

testWithPgvector(
  "the database is asked once where all values fit, and not at all where it need not be",
  async () => {
    await using fixture = await createSearchFixture(setUp);
    const table = await fixture.readTable({ table: "docs" });
    let reads = 0;
    const counting: typeof fixture.database = {
      ...fixture.database,
      read: (request) => (reads++, fixture.database.read(request)),
    };
    const check = (...conditions: readonly Condition[]) =>
      checkFilter(counting, [table], { conditions, logic: "AND" }, { signal });
    await check({ column: "id", operator: "=", value: 1 }, { column: "spot", operator: "IS NULL" });
    assert.equal(reads, 0);
    await check({ column: "c0", operator: "=", value: "1 day" }, {
      column: "c7",
      operator: "=",
      value: "abc",
    });
    assert.equal(reads, 1);
  },
);

const carelessTypes = `
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
  await using fixture = await createSearchFixture(carelessTypes);
  const table = await fixture.readTable({ table: '"Docs"' });
  const check = (column: string, value = "x") =>
    checkFilter(
      fixture.database,
      [table],
      { conditions: [{ column, operator: "=", value }], logic: "AND" },
      { signal },
    );
  for (const column of ["list", "pair", "pairs", "odd"]) {
    await assert.rejects(check(column), {
      code: "invalid",
      message: /^filter\.conditions\[0\]\.column: .* is VOLATILE/,
    }, column);
  }
  // a domain itself is compared as the type below it
  for (const column of ["plain", "goods", "moods", "mood", "tags", "body"]) await check(column);
  await check("period", "[1,2)");
});

testWithPgvector("a filter runs nobody's own operator over PostgreSQL's types", async () => {
  await using fixture = await createSearchFixture(`
    CREATE FUNCTION careless(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran'; END $$;
    CREATE FUNCTION careless(varchar, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran'; END $$;
    CREATE FUNCTION careless(int[], int[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran'; END $$;
    CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = careless);
    CREATE OPERATOR ~~ (LEFTARG = varchar, RIGHTARG = text, FUNCTION = careless);
    CREATE OPERATOR = (LEFTARG = int[], RIGHTARG = int[], FUNCTION = careless);
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), name varchar(20), numbers int[]);
    INSERT INTO docs VALUES (1, 'x', '[1,2]', 'Ann', '{1,2}')`);
  const table = await fixture.readTable({ table: "docs" });
  const filterOf = (column: string, operator: "=" | "IN" | "LIKE", value: unknown) => ({
    conditions: [{ column, operator, value }],
    logic: "AND" as const,
  });
  for (
    const filter of [
      filterOf("name", "=", "Ann"),
      filterOf("name", "IN", ["Ann"]),
      filterOf("name", "LIKE", "A%"),
    ]
  ) {
    await checkFilter(fixture.database, [table], filter, { signal });
    const statement = renderSql(
      sql`SELECT count(*)::text FROM docs WHERE ${compileFilter(filter, table.requestColumns).condition}`,
    );
    const result = await fixture.database.read({
      principal: { kind: "local" },
      trusted: true,
      ...statement,
      signal,
    });
    assert.deepEqual(result.ok ? result.rows : result.error, [["1"]]);
  }
  await assert.rejects(
    checkFilter(fixture.database, [table], filterOf("numbers", "=", [1, 2]), { signal }),
    { code: "invalid", message: /VOLATILE/ },
  );
});

testWithPgvector("whatever the database is asked about a filter counts to its caller", async () => {
  await using fixture = await createSearchFixture(
    "CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), spot point)",
  );
  const table = await fixture.readTable({ table: "docs" });
  const principals: unknown[] = [];
  const watched: typeof fixture.database = {
    ...fixture.database,
    read: (request) => (principals.push(request.principal), fixture.database.read(request)),
  };
  const filter = {
    conditions: [{ column: "spot", operator: "IN", value: ["(1,2)"] }],
    logic: "AND",
  } as const;
  const caller = { kind: "token", id: "t1" } as const;
  await assert.rejects(checkFilter(watched, [table], filter, { caller, signal }), { code: "invalid" });
  // the type, all values, and then the one that does not fit
  assert.deepEqual(principals, Array(3).fill({ kind: "local", onBehalfOf: caller }));
});
