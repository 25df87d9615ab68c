import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { readDefinitions } from "../../../src/tool_server/definitions/read_definitions.ts";
import { faultText } from "../../../src/core/yaml/file_fault.ts";

const signal = new AbortController().signal;

async function read(text: string) {
  const guard = await createStatementGuard();
  const { definitions, faults } = await readDefinitions(text, { guard, signal, databases: ["shop"] });
  return { definitions, faults: faults.map((fault) => faultText(fault)) };
}

Deno.test("the example of docs/definitions.md loads without a fault", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/definitions.md", import.meta.url));
  const example = /```yaml definitions\n([^]*?)```/.exec(page)?.[1] ?? "";
  const { definitions, faults } = await read(example);
  assert.deepEqual(faults, []);
  const [tool] = definitions?.tools ?? [];
  assert.deepEqual(tool?.input.names, ["customer", "since", "states"]);
  assert.deepEqual(
    [tool?.title, tool?.database, tool?.maxRows, tool?.availableToUsers],
    ["Orders of a customer", "shop", 200, ["alice", "group:sales"]],
  );
  assert.equal(definitions?.prompts.length, 1);
  assert.deepEqual(definitions?.resources.map(({ type }) => type), ["sql", "static"]);
});

Deno.test("a file with every field of pgEdge's format loads, and its prompts and resources are as there", async () => {
  const text = await Deno.readTextFile(new URL("pgedge_definitions.yaml", import.meta.url));
  const { definitions, faults } = await read(text);
  assert.deepEqual(faults, []);
  assert.deepEqual(definitions?.prompts.map(({ description }) => description), [
    {
      name: "inspect-table",
      description: "Looks at one table",
      arguments: [
        { name: "table_name", description: "Which table", required: true },
        { name: "depth", required: false },
      ],
    },
    { name: "plain" },
  ]);
  const context = { principal: { kind: "local" as const }, signal, logger: silentLogger };
  assert.deepEqual(
    await definitions?.prompts[0]?.messages({ table_name: "a $& {{depth}}" }, context),
    [
      { role: "user", content: { type: "text", text: "You are careful." } },
      {
        role: "user",
        content: { type: "text", text: 'Call get_schema_info(table_name="a $& {{depth}}") .\n' },
      },
      { role: "assistant", content: { type: "text", text: "I will." } },
      { role: "user", content: { type: "image", data: "aGVsbG8=", mimeType: "image/png" } },
      { role: "user", content: { type: "resource_link", uri: "custom://one", name: "custom://one" } },
    ],
  );
  assert.deepEqual(definitions?.resources.map(({ uri, type }) => [uri, type]), [
    ["custom://users", "sql"],
    ["custom://one", "static"],
    ["custom://row", "static"],
    ["custom://rows", "static"],
    ["custom://object", "static"],
    ["custom://number", "static"],
  ]);
});

Deno.test("each fault of a definition names line and field, and leaves the other definitions", async () => {
  const { definitions, faults } = await read(`
tools:
  - { name: good, description: Good, type: sql, sql: "SELECT 1" }
  - { name: good, description: Again, type: sql, sql: "SELECT 1" }
  - { name: query_database, description: Taken, type: sql, sql: "SELECT 1" }
  - { name: "a b", type: sql, sqll: "SELECT 1" }
  - { name: code, description: Code, type: pl-func, language: plpgsql, code: x }
  - { name: kind, description: Kind, type: shell, sql: "SELECT 1" }
  - { name: writes, description: Writes, type: sql, sql: "UPDATE t SET a = 1" }
  - { name: two, description: Two, type: sql, sql: "SELECT 1; SELECT 2" }
  - { name: odd, description: Odd, type: sql, sql: "SELEC 1" }
  - { name: sleeps, description: Reads files, type: sql, sql: "SELECT pg_read_file('x')" }
  - { name: many, description: Many, type: sql, sql: "SELECT $2", input_schema: { properties: { a: { type: integer } } } }
  - { name: few, description: Few, type: sql, sql: "SELECT $1", input_schema: { properties: { a: { type: integer }, b: { type: integer } } } }
  - { name: where, description: Where, type: sql, sql: "SELECT 1", database: shopp }
  - { name: schema, description: Schema, type: sql, sql: "SELECT $1", input_schema: { properties: { a: { type: intger } }, required: [b] } }
  - { name: default, description: Default, type: sql, sql: "SELECT $1", input_schema: { properties: { a: { type: integer, default: x } } } }
  - { name: rows, description: Rows, type: sql, sql: "SELECT 1", max_rows: 0, available_to_users: alice }
prompts:
  - { name: good, messages: [{ role: user, content: { type: text, text: Hi } }] }
  - { name: explore-database, messages: [{ role: user, content: { type: text, text: Hi } }] }
  - { name: none, messages: [] }
  - { name: role, messages: [{ role: tool, content: { type: text, text: Hi } }] }
  - { name: unknown, arguments: [{ name: a }], messages: [{ role: user, content: { type: text, text: "{{a}} {{b}}" } }] }
resources:
  - { uri: "custom://good", name: Good, type: static, data: 1 }
  - { uri: "custom://good", name: Again, type: static, data: 1 }
  - { uri: "pg://own", name: Own, type: static, data: 1 }
  - { uri: relative, name: Relative, type: static, data: 1 }
  - { uri: "custom://empty", name: Empty, type: static }
  - { uri: "custom://writes", name: Writes, type: sql, sql: "SELECT $1" }
  - { uri: "custom://kind", name: Kind, type: file, path: x }
`);
  assert.deepEqual(definitions?.tools.map(({ name }) => name), ["good"]);
  assert.deepEqual(definitions?.prompts.map(({ name }) => name), ["good"]);
  assert.deepEqual(definitions?.resources.map(({ uri }) => uri), ["custom://good"]);
  assert.deepEqual(faults, [
    "line 4, column 13: tools[1].name: tools[0] already has the same",
    "line 5, column 13: tools[2].name: is the name of a built-in tool",
    "line 6, column 5: tools[3].description: is required",
    "line 6, column 5: tools[3].sql: is required",
    "line 6, column 13: tools[3].name: expected up to 64 letters, digits, _ and -",
    'line 6, column 31: tools[3].sqll: unknown key; did you mean "sql"?',
    "line 7, column 44: tools[4].type: pl-func is refused: it runs code that may write, and Postern only reads; write the tool as one SELECT with type: sql",
    'line 8, column 44: tools[5].type: expected "sql"',
    "line 9, column 58: tools[6].sql: UPDATE is not a read; only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here",
    "line 10, column 52: tools[7].sql: there is more than one statement; send one at a time",
    'line 11, column 52: tools[8].sql: syntax error at or near "SELEC" (line 1 of the statement, character 1)',
    "line 12, column 63: tools[9].sql: pg_read_file() is not allowed: it reads or writes the server's files (line 1 of the statement, character 8)",
    "line 13, column 54: tools[10].sql: $2 has no value here; there are values up to $1 (line 1 of the statement, character 8)",
    "line 14, column 52: tools[11].sql: has no $2, which stands for b: the arguments are bound in their order",
    "line 15, column 78: tools[12].database: there is no database of that name in the configuration",
    "line 16, column 101: tools[13].input_schema.properties.a: cannot be used: unsupported type: intger",
    "line 16, column 135: tools[13].input_schema.required[0]: there is no such property",
    "line 17, column 132: tools[14].input_schema.properties.a.default: does not fit the schema that it stands in",
    "line 18, column 76: tools[15].max_rows: expected at least 1",
    "line 18, column 99: tools[15].available_to_users: expected a list",
    "line 21, column 13: prompts[1].name: is the name of a built-in prompt",
    "line 22, column 19: prompts[2].messages: expected at least one message",
    "line 23, column 38: prompts[3].messages[0].role: expected user, assistant or system",
    "line 24, column 102: prompts[4].messages[0].content.text: {{b}} is none of the prompt's arguments",
    "line 27, column 12: resources[1].uri: resources[0] already has the same",
    "line 28, column 12: resources[2].uri: begins as the built-in ones do; use custom://",
    "line 29, column 12: resources[3].uri: expected an address such as custom://late-orders",
    "line 30, column 5: resources[4].data: is required",
    "line 31, column 61: resources[5].sql: parameters such as $1 have no value here; write the value itself (line 1 of the statement, character 8)",
    'line 32, column 47: resources[6].type: expected a mapping whose type is "sql" or "static"',
  ]);
});

Deno.test("a file that is no YAML gives no definitions", async () => {
  const { definitions, faults } = await read("tools:\n  - name: [");
  assert.equal(definitions, undefined);
  assert.match(faults[0] ?? "", /^line \d+, column \d+: /);
});
