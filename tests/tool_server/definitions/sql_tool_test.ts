import assert from "node:assert/strict";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { callTool, createToolFixture, type ToolFixture } from "../../support/tool_fixture.ts";
import { parameterText, sqlTool } from "../../../src/tool_server/definitions/offered_definitions.ts";
import { readInputSchema } from "../../../src/tool_server/definitions/tool_definitions.ts";

function toolOf(
  { directory }: ToolFixture,
  sql: string,
  properties: Record<string, unknown>,
  settings: { readonly maxRows?: number; readonly database?: string } = {},
) {
  const { input, faults } = readInputSchema({ properties });
  assert.deepEqual(faults, []);
  assert.ok(input);
  const described = { name: "own", title: "Own", description: "Own" };
  return sqlTool({ ...described, sql, input, availableToUsers: [], ...settings }, { directory });
}

testWithPostgres(
  "arguments of any kind reach PostgreSQL as values, never as text of the statement",
  async () => {
    await using database = await createTestDatabase();
    await database.query(
      "CREATE TABLE notes (id int, body text); INSERT INTO notes VALUES (1, 'a'), (2, 'b')",
    );
    await using fixture = await createToolFixture({ main: { database } });
    const echo = toolOf(fixture, "SELECT $1::text AS given", { given: {} });
    const hostile = [
      "x' OR '1'='1",
      "'; DROP TABLE notes; --",
      "$1",
      "\\'; SELECT pg_sleep(10)",
      "{{given}}",
      "ünï\u{1F600}",
      "a\tb\nc\\N",
      "",
    ];
    for (const given of hostile) {
      const { data } = await callTool(echo, { given });
      assert.deepEqual(data["rows"], [[given]]);
    }
    assert.deepEqual((await callTool(echo, {})).data["rows"], [[null]]);
    assert.deepEqual((await callTool(echo, { given: null })).data["rows"], [[null]]);
    assert.deepEqual((await callTool(echo, { given: { a: ["'"] } })).data["rows"], [[`{"a":["'"]}`]]);
    const nul = await callTool(echo, { given: "a\0b" });
    assert.equal(nul.isError, true);
    assert.match(nul.text, /Cannot run the statement/);
    assert.deepEqual(await database.query("SELECT count(*) FROM notes"), [["2"]]);
  },
);

Deno.test("no text of a caller's keeps a pattern busy", () => {
  const { faults } = readInputSchema({
    properties: { pattern: { type: "string", pattern: "^(a+)+$" }, list: { items: { pattern: "(a|a)*b" } } },
  });
  assert.deepEqual(faults.map(({ path }) => path.join(".")), [
    "properties.pattern.pattern",
    "properties.list.items.pattern",
  ]);
  assert.match(faults[0]?.message ?? "", /^repeats a group that may fit the same text in several ways, "\+"/);

  const { input } = readInputSchema({
    properties: {
      code: { type: "string", pattern: "^[A-Z]+-\\d+$" },
      codes: { type: "array", items: { type: "string", pattern: "^x+$" } },
      note: { type: "string" },
    },
  });
  const issues = (args: object) =>
    input?.type.safeParse(args).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  const long = "x".repeat(501);
  assert.equal(issues({ code: "AB-1", codes: ["x".repeat(500)], note: long }), undefined);
  const tooLong = "expected texts of 500 characters at most, as they are compared with a pattern";
  assert.deepEqual(issues({ code: long, codes: ["x", { [long]: 1 }] }), [
    `code: ${tooLong}`,
    `codes: ${tooLong}`,
  ]);
  assert.deepEqual(issues({ codes: Array(21).fill("x".repeat(500)) }), [
    "codes: expected 10000 characters in all at most, as they are compared with a pattern",
  ]);
  assert.match(issues({ code: "ab" })?.[0] ?? "", /^code: Invalid string/);
});

testWithPostgres("numbers, booleans, dates and lists fit where the statement has them", async () => {
  await using database = await createTestDatabase();
  await using fixture = await createToolFixture({ main: { database } });
  const tool = toolOf(
    fixture,
    "SELECT $1 + 1, $2 AND true, $3::date + 1, array_length($4::text[], 1), ($4::text[])[1], left('abcdef', $5), $6::jsonb -> 'a'",
    {
      number: { type: "integer" },
      flag: { type: "boolean", default: true },
      day: { type: "string", format: "date" },
      list: { type: "array", items: { type: "string" } },
      length: { type: "integer", minimum: 1 },
      json: { type: "object" },
    },
  );
  const { data, text } = await callTool(tool, {
    number: 41,
    day: "2026-02-28",
    list: ['a "quoted", {b} \\ c', "NULL"],
    length: 2,
    json: { a: [1, { b: "c" }] },
  });
  assert.deepEqual(
    data["rows"],
    [[42, true, "2026-03-01", 2, 'a "quoted", {b} \\ c', "ab", [1, { b: "c" }]]],
    text,
  );
  const wrong = await callTool(tool, { number: 41, length: 2, day: "2026-02-28", json: {} });
  assert.deepEqual(wrong.data["rows"], [[42, true, "2026-03-01", null, null, "ab", null]]);
});

testWithPostgres(
  "max_rows bounds the rows, and an error of the statement reads like query_database's",
  async () => {
    await using database = await createTestDatabase();
    await using fixture = await createToolFixture({ main: { database } });
    const many = await callTool(
      toolOf(fixture, "SELECT generate_series(1, $1::int)", { count: { type: "integer" } }, { maxRows: 3 }),
      { count: 9 },
    );
    assert.match(many.text, /Results \(3 rows, more available\):/);
    assert.deepEqual([many.data["row_count"], many.data["truncated"], many.data["next_offset"]], [
      3,
      true,
      undefined,
    ]);
    const failed = await callTool(toolOf(fixture, "SELECT 1 / $1::int", { by: { type: "integer" } }), {
      by: 0,
    });
    assert.equal(failed.isError, true);
    assert.match(failed.text, /division by zero[^]*SQLSTATE: 22012/);
  },
);

testWithPostgres(
  "what a statement reaches in the database is refused as it is in query_database",
  async () => {
    await using database = await createTestDatabase();
    await database.query(`
    CREATE TABLE log (line text);
    CREATE FUNCTION note(line text) RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO log VALUES (line); SELECT 1'`);
    await using fixture = await createToolFixture({ main: { database } });
    const { text, isError } = await callTool(
      toolOf(fixture, "SELECT note($1)", { line: { type: "string" } }),
      { line: "x" },
    );
    assert.equal(isError, true);
    assert.match(text, /note/);
    assert.deepEqual(await database.query("SELECT count(*) FROM log"), [["0"]]);
  },
);

testWithPostgres("a tool exists for those alone who may use its database", async () => {
  await using database = await createTestDatabase();
  await using fixture = await createToolFixture({
    open: { database },
    closed: { database, users: ["alice"] },
  });
  const tool = toolOf(fixture, "SELECT 1", {}, { database: "closed" });
  const session = (username: string) => ({ kind: "session" as const, id: username, username });
  assert.deepEqual([tool.isFor?.(session("alice")), tool.isFor?.(session("bob"))], [true, false]);
});

Deno.test("arguments are checked by their schema, and what is not in it is refused by name", () => {
  const { input } = readInputSchema({
    properties: { constructor: { type: "integer" }, state: { enum: ["open"] } },
    required: ["constructor"],
  });
  const faultsOf = (args: unknown) =>
    input?.type.safeParse(args).error?.issues.map(({ path, code }) => [path.join("."), code]);
  assert.deepEqual(faultsOf({ constructor: 1 }), undefined);
  assert.deepEqual(faultsOf({}), [["constructor", "invalid_type"]]);
  assert.deepEqual(faultsOf({ constructor: "1", state: "shut", other: 1 }), [
    ["constructor", "invalid_type"],
    ["state", "invalid_value"],
    ["", "unrecognized_keys"],
  ]);
  assert.equal(readInputSchema({ properties: JSON.parse('{"__proto__": {}}') }).faults.length, 1);
  assert.equal(readInputSchema({ type: "array" }).faults.length, 1);
  assert.deepEqual(readInputSchema().input?.names, []);
});

Deno.test("parameterText() gives what PostgreSQL reads", () => {
  assert.deepEqual(
    [undefined, null, 1.5, false, "a", [1, null, true, 'b"\\'], [[1]], {}].map(parameterText),
    [null, null, "1.5", "false", "a", '{1,NULL,true,"b\\"\\\\"}', "[[1]]", "{}"],
  );
});
