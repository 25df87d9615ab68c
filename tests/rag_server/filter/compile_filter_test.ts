import assert from "node:assert/strict";
import type { DocumentTable } from "../../../src/rag_server/search/document_table.ts";
import { compileFilter } from "../../../src/rag_server/filter/compile_filter.ts";
import type { Condition } from "../../../src/rag_server/query.ts";
import type { Operator } from "../../../src/rag_server/query_limits.ts";
import { renderSql, sql, verbatim } from "../../../src/postgres/sql_text.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createSearchFixture } from "../search_fixture.ts";

type Value = string | number | boolean | null;
interface Sample {
  readonly type: string;
  /** As SQL reads them, by id from 0. */
  readonly values: readonly (string | null)[];
  /** The same, in an order that JavaScript knows. */
  readonly comparable: readonly Value[];
  /** Values of conditions, with what each compares as. */
  readonly asked: readonly (readonly [unknown, Value])[];
}

const samples: Readonly<Record<string, Sample>> = {
  a_text: texts('text COLLATE "C"', ["", "alpha", "Beta", "it's", null, "%", "alpha"]),
  a_varchar: texts('varchar(5) COLLATE "C"', ["alpha", "beta", null]),
  a_char: {
    ...texts('char(3) COLLATE "C"', ["abc", "abd", null]),
    asked: [["abc", "abc"], ["abcd", "abcd"]],
  },
  a_smallint: numbers("smallint", [-5, 0, 7, null], [["7", 7]]),
  an_integer: numbers("int", [-5, 0, 7, null, 2_000_000_000], [["+7", 7]]),
  a_bigint: {
    type: "bigint",
    values: ["9007199254740993", "9007199254740992", null],
    comparable: [3, 2, null],
    asked: [["9007199254740993", 3], ["9007199254740992", 2]],
  },
  a_numeric: numbers("numeric(5,2)", [1.25, -3, null, 100], [["1.25", 1.25], [1.254, 1.254], ["1e2", 100]]),
  a_real: numbers("real", [0.1, 2, null], []),
  a_double: numbers("double precision", [0.1, 1e300, null, -2], [["1E300", 1e300]]),
  a_price: numbers("positive", [0, 2.5, null], [[-1, -1]]),
  a_boolean: {
    type: "boolean",
    values: ["true", "false", null],
    comparable: [true, false, null],
    asked: [[true, true], [false, false], ["TRUE", true]],
  },
  a_date: texts("date", ["2026-01-31", "2024-02-29", null, "0044-03-15"]),
  a_timestamp: {
    type: "timestamp",
    values: ["2026-01-31 18:30:00", "2026-01-31 00:00:00", "2026-01-31 18:30:00.5", null],
    comparable: [2, 1, 3, null],
    asked: [["2026-01-31T18:30:00", 2], ["2026-01-31 18:30", 2], ["2026-01-31", 1], [
      "2026-01-31T18:30:00.500Z",
      3,
    ]],
  },
  a_timestamptz: {
    type: "timestamptz",
    values: ["2026-01-31 18:30:00+00", "2026-01-31 00:00:00+00", null],
    comparable: [2, 1, null],
    asked: [["2026-01-31T18:30:00Z", 2], ["2026-01-31T20:30:00+02:00", 2], ["2026-01-31", 1], [
      "2026-01-31 13:00-05:30",
      2,
    ]],
  },
  a_time: texts("time", ["18:30:00", "07:00:00", null]),
  a_uuid: texts("uuid", [
    "123e4567-e89b-12d3-a456-426614174000",
    "00000000-0000-0000-0000-000000000001",
    null,
  ]),
  a_state: {
    ...texts("state", ["new", "done", null]),
    comparable: [1, 2, null],
    asked: [["new", 1], ["done", 2]],
  },
  an_inet: {
    type: "inet",
    values: ["192.0.2.1", "2001:db8::1", null],
    comparable: [1, 2, null],
    asked: [["192.0.2.1", 1], ["2001:db8::1", 2], ["192.0.2.1/32", 1]],
  },
  a_bytea: { ...texts("bytea", ["\\x01", "\\x02", null]) },
  an_interval: { ...texts("interval", ["1 day", "2 days", null]) },
};

const comparisons = ["=", "!=", "<", ">", "<=", ">="] as const;

testWithPgvector("a filter finds what brute force finds, for every operator and type", async () => {
  await using fixture = await createSearchFixture(setUp());
  const table = await fixture.readTable({ table: "docs" });
  const find = finder(fixture, table);
  for (const [column, { comparable, asked }] of Object.entries(samples)) {
    const ids = (holds: (value: Value) => boolean) =>
      comparable.flatMap((value, id) => value !== null && holds(value) ? [id] : []);
    const check = async (condition: Omit<Condition, "column">, expected: readonly number[]) =>
      assert.deepEqual(
        await find({ column, ...condition }),
        expected,
        `${column} ${JSON.stringify(condition)}`,
      );

    for (const [value, meaning] of asked) {
      for (const operator of comparisons) {
        await check({ operator, value }, ids((own) => compares(own, operator, meaning)));
      }
    }
    const [first, second] = asked;
    const both = [first?.[0], second?.[0]];
    await check({ operator: "IN", value: both }, ids((own) => own === first?.[1] || own === second?.[1]));
    await check({ operator: "NOT IN", value: both }, ids((own) => own !== first?.[1] && own !== second?.[1]));
    await check({ operator: "IN", value: [] }, []);
    const everyRow = Array.from({ length: rows }, (_, id) => id);
    await check({ operator: "NOT IN", value: [] }, everyRow);
    await check({ operator: "IS NULL" }, everyRow.filter((id) => (comparable[id] ?? null) === null));
    await check({ operator: "IS NOT NULL" }, ids(() => true));
  }
});

testWithPgvector("LIKE and ILIKE take SQL's patterns, on text alone", async () => {
  await using fixture = await createSearchFixture(setUp());
  const find = finder(fixture, await fixture.readTable({ table: "docs" }));
  const like = (operator: Operator, value: unknown, column = "a_text") => find({ column, operator, value });
  assert.deepEqual(await like("LIKE", "%a"), [1, 2, 6]);
  assert.deepEqual(await like("LIKE", "b%"), []);
  assert.deepEqual(await like("ILIKE", "b%"), [2]);
  assert.deepEqual(await like("LIKE", "\\%"), [5]);
  assert.deepEqual(await like("LIKE", "it's"), [3]);
  assert.deepEqual(await like("LIKE", "\\\\"), []);
  assert.deepEqual(await like("ILIKE", "ALP%", "a_varchar"), [0]);
  await assert.rejects(like("LIKE", "a\\"), {
    message: "filter.conditions[0].value: a pattern cannot end with a single backslash; double it",
  });
  await assert.rejects(like("LIKE", "1%", "an_integer"), {
    message: "filter.conditions[0].operator: LIKE is for columns of text",
  });
});

testWithPgvector("an array has a value, has one of some, or is a list", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), tags varchar(20)[], sizes int[]);
    INSERT INTO docs (id, tags, sizes) VALUES (0, '{a,b}', '{1,2}'), (1, '{b}', '{3}'), (2, '{}', '{}'),
      (3, NULL, NULL), (4, ARRAY['a,b', 'q"\\x', NULL], '{1,NULL}')`);
  const find = finder(fixture, await fixture.readTable({ table: "docs" }));
  const tags = (operator: Operator, value?: unknown) => find({ column: "tags", operator, value });
  assert.deepEqual(await tags("=", "b"), [0, 1]);
  assert.deepEqual(await tags("!=", "b"), [2, 4]);
  assert.deepEqual(await tags("=", "a,b"), [4]);
  assert.deepEqual(await tags("=", 'q"\\x'), [4]);
  assert.deepEqual(await tags("=", ["a", "b"]), [0]);
  assert.deepEqual(await tags("!=", ["a", "b"]), [1, 2, 4]);
  assert.deepEqual(await tags("=", []), [2]);
  assert.deepEqual(await tags("IN", ["a", "a,b"]), [0, 4]);
  assert.deepEqual(await tags("NOT IN", ["a", "a,b"]), [1, 2]);
  assert.deepEqual(await tags("IN", []), []);
  assert.deepEqual(await tags("IS NULL"), [3]);
  assert.deepEqual(await find({ column: "sizes", operator: "=", value: "1" }), [0, 4]);
  await assert.rejects(find({ column: "sizes", operator: "=", value: [1, "x"] }), {
    message: "filter.conditions[0].value: item 1: expected a whole number from -2147483648 to 2147483647",
  });
  await assert.rejects(tags("<", "a"), {
    message: "filter.conditions[0].operator: < is not for columns of arrays",
  });
});

testWithPgvector(
  "a path into JSON compares text as text, numbers as numbers and booleans as booleans",
  async () => {
    await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), meta jsonb, plain json, "meta.x" text);
    INSERT INTO docs (id, meta, "meta.x") VALUES
      (0, '{"kind": "a", "n": 9, "ok": true, "owner": {"name": "Ann"}, "list": ["p", {"q": 1}], "it''s": 1}', 'x'),
      (1, '{"kind": "b", "n": 10, "ok": false, "owner": {"name": "Bob"}}', NULL),
      (2, '{"kind": null, "n": "9", "ok": "true"}', NULL), (3, '[]', NULL), (4, NULL, NULL), (5, '"a"', NULL);
    UPDATE docs SET plain = meta::json`);
    const find = finder(fixture, await fixture.readTable({ table: "docs" }));
    const at = (column: string, operator: Operator, value?: unknown) => find({ column, operator, value });
    for (
      const path of [
        "meta.kind",
        "meta->>kind",
        "meta->>'kind'",
        "meta ->> 'kind'",
        "plain.kind",
        "plain->>kind",
      ]
    ) {
      assert.deepEqual(await at(path, "=", "a"), [0], path);
      assert.deepEqual(await at(path, "IN", ["a", "b"]), [0, 1], path);
    }
    assert.deepEqual(await at("meta.kind", "!=", "a"), [1]);
    assert.deepEqual(await at("meta.kind", "IS NULL"), [2, 3, 4, 5]);
    assert.deepEqual(await at("meta.kind", "IS NOT NULL"), [0, 1]);
    assert.deepEqual(await at("meta.n", "<", 10), [0]);
    assert.deepEqual(await at("meta.n", "=", "9"), [0, 2]);
    assert.deepEqual(await at("meta.n", "<", "9"), [1]);
    assert.deepEqual(await at("plain.n", ">=", 9.5), [1]);
    assert.deepEqual(await at("meta.n", "NOT IN", [9, 11]), [1]);
    assert.deepEqual(await at("meta.ok", "=", true), [0]);
    assert.deepEqual(await at("meta.ok", "!=", true), [1]);
    assert.deepEqual(await at("meta.owner.name", "ILIKE", "a%"), [0]);
    assert.deepEqual(await at("meta->'owner'->>'name'", "=", "Bob"), [1]);
    assert.deepEqual(await at("meta.list.0", "=", "p"), [0]);
    assert.deepEqual(await at("meta->list->1->>q", "=", 1), [0]);
    assert.deepEqual(await at("meta.it's", "=", 1), [0]);
    assert.deepEqual(await at("meta.x", "=", "x"), [0], "a column's own name comes first");
    assert.deepEqual(await at("meta", "=", []), [3]);
    assert.deepEqual(await at("meta", "!=", []), [0, 1, 2, 5]);
    assert.deepEqual(await at("plain", "=", "a"), [5]);
    for (const column of ["meta.", "meta..x.", "meta->>", "body.x", "nothing.x", ".meta"]) {
      await assert.rejects(at(column, "=", "a"), {
        code: "invalid",
        message: `filter.conditions[0].column: there is no column "${column}"`,
      });
    }
    const faults = [
      ["meta.kind", "=", null, "value: expected a text, a number, or true or false"],
      ["meta.kind", "=", { a: 1 }, "value: expected a text, a number, or true or false"],
      ["meta.kind", "=", "a\0", "value: expected a text, a number, or true or false"],
      ["meta.kind", "IN", "a", "value: expected a list"],
      ["meta.kind", "IN", ["a", 1], "value: expected texts, numbers or booleans, all of one kind"],
      ["meta", "<", 1, "operator: < is not for a column of JSON as a whole; name a path such as column.key"],
      ["meta", "=", { a: "\0" }, "value: expected a JSON value without NUL and halves of characters"],
      ["meta", "=", { a: "\ud800" }, "value: expected a JSON value without NUL and halves of characters"],
      ["meta", "=", { "\udc00": 1 }, "value: expected a JSON value without NUL and halves of characters"],
    ] as const;
    for (const [column, operator, value, message] of faults) {
      await assert.rejects(at(column, operator, value), { message: `filter.conditions[0].${message}` });
    }
  },
);

testWithPgvector("a value that does not fit its column is refused before anything is sent", async () => {
  await using fixture = await createSearchFixture(setUp());
  const { columns } = await fixture.readTable({ table: "docs" });
  const date = "expected a date such as 2026-01-31";
  const integer = "expected a whole number from -2147483648 to 2147483647";
  const refused: readonly (readonly [string, readonly unknown[], string])[] = [
    ["a_text", [1, true, null, undefined, {}, "\0"], "expected a text without NUL"],
    ["an_integer", [1.5, "1.5", "1e3", "x", "", " 1", true, null, 2147483648, "0x1", NaN], integer],
    ["a_bigint", [
      2 ** 53,
      "9223372036854775808",
    ], "expected a whole number from -9223372036854775808 to 9223372036854775807"],
    ["a_numeric", ["", "1,5", "NaN", Infinity, "1e9999", "- 1"], "expected a number"],
    ["a_real", [1e39, "1e-60"], "expected a number in the range of a real"],
    ["a_double", ["1e999", "1e-999"], "expected a number in the range of a double"],
    ["a_boolean", [1, "yes", "", null], "expected true or false"],
    ["a_date", [
      "2026-02-29",
      "2026-1-1",
      "today",
      "2026-01-31T00:00:00",
      20260131,
      "0000-01-01",
      "1900-02-29",
    ], date],
    ["a_timestamp", [
      "2026-01-31T24:00:00",
      "2026-01-31T18:30:00+02:00",
      "now",
      "2026-13-01",
    ], "expected a time without offset such as 2026-01-31T18:30:00"],
    [
      "a_timestamptz",
      ["2026-01-31T18:30:00+16", "x", "18:30"],
      "expected a time such as 2026-01-31T18:30:00Z",
    ],
    ["a_time", ["25:00", "18:60", "18:30:61", "now"], "expected a time of day such as 18:30:00"],
    ["a_uuid", ["123", "g".repeat(32)], "expected a UUID such as 123e4567-e89b-12d3-a456-426614174000"],
    ["a_state", ["old", "NEW", 1], "expected one of the values of the column's type"],
    ["an_inet", ["1.2.3", "1.2.3.4/33", "x"], "expected an address such as 192.0.2.1 or 192.0.2.0/24"],
    ["a_date", [["2026-01-31"]], "expected one value, not a list"],
  ];
  for (const [column, values, message] of refused) {
    for (const value of values) {
      const conditions = [{ column: "id", operator: "=", value: 1 }, {
        column,
        operator: "=",
        value,
      }] as const;
      assert.throws(() => compileFilter({ conditions, logic: "AND" }, columns), {
        name: "AppError",
        code: "invalid",
        message: `filter.conditions[1].value: ${message}`,
      }, `${column} ${String(value)}`);
    }
  }
  const one = (condition: Condition) => () =>
    compileFilter({ conditions: [condition], logic: "OR" }, columns);
  assert.throws(one({ column: "a_date", operator: "IN", value: ["2026-01-31", "x"] }), {
    message: `filter.conditions[0].value: item 1: ${date}`,
  });
  assert.throws(one({ column: "a_date", operator: "IN", value: "2026-01-31" }), {
    message: "filter.conditions[0].value: expected a list",
  });
  assert.deepEqual(
    compileFilter({
      conditions: [{ column: "a_text", operator: "=", value: "a" }, {
        column: "an_interval",
        operator: "=",
        value: "x",
      }],
      logic: "AND",
    }, columns).unchecked.map(({ place, column, type }) => [place, column, type.sqlType]),
    [["filter.conditions[1]", "an_interval", "interval"]],
  );
});

testWithPgvector("neither names nor values become SQL", async () => {
  await using fixture = await createSearchFixture(`
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), "a"" OR true --" text, meta jsonb);
    INSERT INTO docs VALUES (0, 'x', NULL, 'plain', '{"k": "v"}')`);
  const table = await fixture.readTable({ table: "docs" });
  const find = finder(fixture, table);
  const hostile = [
    "' OR true --",
    '" OR true --',
    "\\' OR 1=1",
    "$1",
    "'); DROP TABLE docs; --",
    "{}",
    '"},{"',
    "%'",
  ];
  for (const value of hostile) {
    assert.deepEqual(await find({ column: "body", operator: "=", value }), []);
    assert.deepEqual(await find({ column: "body", operator: "IN", value: [value] }), []);
    assert.deepEqual(await find({ column: "body", operator: "LIKE", value }), []);
    assert.deepEqual(await find({ column: `meta.${value}`, operator: "=", value: "v" }), []);
    assert.deepEqual(await find({ column: `meta.${value}.0`, operator: "=", value: "v" }), []);
    assert.deepEqual(await find({ column: "meta.k", operator: "=", value }), []);
    await assert.rejects(find({ column: value, operator: "=", value: "x" }), { code: "invalid" });
  }
  for (
    const column of [
      "ctid",
      "xmin",
      "tableoid",
      "docs",
      "source",
      "source.body",
      'body"',
      "BODY",
      "",
      "id::text",
    ]
  ) {
    await assert.rejects(find({ column, operator: "IS NOT NULL" }), { code: "invalid" }, column);
  }
  assert.deepEqual(await find({ column: 'a" OR true --', operator: "=", value: "plain" }), [0]);
  assert.deepEqual(await find({ column: 'a" OR true --', operator: "=", value: "other" }), []);
  const { condition } = compileFilter(
    { conditions: [{ column: "body", operator: "=", value: "v" }], logic: "AND" },
    table.columns,
  );
  assert.deepEqual(renderSql(condition), { sql: '(("body" = $1::text))', parameters: ["v"] });
});

testWithPgvector("conditions are joined by the filter's logic, as many as there may be", async () => {
  await using fixture = await createSearchFixture(setUp());
  const { columns, relation } = await fixture.readTable({ table: "docs" });
  const find = async (conditions: readonly Condition[], logic: "AND" | "OR") => {
    const { condition } = compileFilter({ conditions, logic }, columns);
    const rows = await fixture.rows(sql`SELECT id FROM ${verbatim(relation)} WHERE ${condition} ORDER BY id`);
    return rows.map(([id]) => Number(id));
  };
  const [zero, one] = [{ column: "id", operator: "=", value: 0 }, {
    column: "id",
    operator: "=",
    value: 1,
  }] as const;
  assert.deepEqual(await find([zero, one], "OR"), [0, 1]);
  assert.deepEqual(await find([zero, one], "AND"), []);
  assert.deepEqual(await find(Array.from({ length: 50 }, (_, value) => ({ ...zero, value })), "OR"), [
    0,
    1,
    2,
    3,
    4,
    5,
    6,
  ]);
  assert.deepEqual(
    await find([{
      column: "id",
      operator: "IN",
      value: Array.from({ length: 1_000 }, (_, n) => n + 5),
    }], "AND"),
    [
      5,
      6,
    ],
  );
});

const rows = 7;

function setUp(): string {
  const columns = Object.entries(samples).map(([name, { type }]) => `${name} ${type}`);
  const inserts = Array.from({ length: rows }, (_, id) => {
    const values = Object.values(samples).map(({ values }) => {
      const value = values[id] ?? null;
      return value === null ? "NULL" : `'${value.replaceAll("'", "''")}'`;
    });
    return `INSERT INTO docs VALUES (${id}, 'text', NULL, ${values.join(", ")});`;
  });
  return `CREATE TYPE state AS ENUM ('new', 'done'); CREATE DOMAIN positive AS numeric CHECK (VALUE >= 0);
    CREATE TABLE docs (id int PRIMARY KEY, body text, embedding vector(2), ${columns.join(", ")}); ${
    inserts.join(" ")
  }`;
}

function texts(type: string, values: readonly (string | null)[]): Sample {
  const asked = values.flatMap((value) => value === null ? [] : [[value, value] as const]);
  return { type, values, comparable: values, asked };
}

function numbers(type: string, values: readonly (number | null)[], more: Sample["asked"]): Sample {
  const asked = values.flatMap((value) => value === null ? [] : [[value, value] as const]);
  return {
    type,
    values: values.map((value) => value === null ? null : String(value)),
    comparable: values,
    asked: [...asked, ...more],
  };
}

function compares(own: Value, operator: (typeof comparisons)[number], other: Value): boolean {
  if (own === null || other === null) return false;
  switch (operator) {
    case "=":
      return own === other;
    case "!=":
      return own !== other;
    case "<":
      return own < other;
    case ">":
      return own > other;
    case "<=":
      return own <= other;
    case ">=":
      return own >= other;
  }
}

type Fixture = Awaited<ReturnType<typeof createSearchFixture>>;

/** The ids of the rows that meet one condition. */
function finder(fixture: Fixture, { columns, relation }: DocumentTable) {
  return async (condition: Condition): Promise<number[]> => {
    const compiled = compileFilter({ conditions: [condition], logic: "AND" }, columns);
    const statement = sql`SELECT id FROM ${
      verbatim(relation)
    } AS source WHERE ${compiled.condition} ORDER BY id`;
    return (await fixture.rows(statement)).map(([id]) => Number(id));
  };
}
