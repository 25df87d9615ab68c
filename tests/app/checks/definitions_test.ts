import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { readDefinitions } from "../../../src/tool_server/definitions/read_definitions.ts";
import { createSearchFixture } from "../../rag_server/search_fixture.ts";
import { testWithPgvector } from "../../support/database.ts";
import { doctor } from "../../../src/app/checks/all_checks.ts";

const { signal } = new AbortController();
const setUp = "CREATE TYPE state AS ENUM ('open'); CREATE TABLE orders (id int, state state, total numeric)";

/** What the doctor says of definitions, with `DATABASE` in their text for the only database's name. */
async function look(text: string, changes: Partial<DatabaseOptions> = {}) {
  await using fixture = await createSearchFixture(setUp, changes);
  const { database, options } = fixture;
  const { definitions } = await readDefinitions(text.replaceAll("DATABASE", database.name), {
    guard: await createStatementGuard(),
    signal,
    databases: [database.name],
  });
  const [diagnosis] = await doctor({
    pipelines: [],
    databases: [{ database, options }],
    server: { completions: [], keyFiles: [], configuration: [], definitions },
    signal,
    logger: silentLogger,
  });
  return diagnosis?.results.filter(({ check }) => check === "definitions" || check === "models");
}

const faulty = `
tools:
  - { name: gone, description: x, type: sql, sql: SELECT * FROM orderz, database: DATABASE }
  - name: mistyped
    description: x
    type: sql
    sql: SELECT id FROM orders WHERE state = ANY ($1)
    input_schema: { properties: { states: { type: array, items: { type: string } } }, type: object }
  - { name: vague, description: x, type: sql, sql: "SELECT id FROM orders WHERE state = ANY ($1::text[])",
      input_schema: { properties: { states: { type: array } }, type: object } }
  - { name: shows, description: x, type: sql, sql: SHOW work_mem }
resources:
  - { uri: "custom://x", name: x, type: sql, sql: SELECT missing FROM orders }
questions:
  - { question: how many open orders, database: DATABASE, sql: SELECT count(*) FROM ordres }
models:
  - { name: order, database: DATABASE, table: orders, measures: [{ name: revenue, sql: sum(orders.totl) }] }
`;

testWithPgvector(
  "the doctor tries the statements of definitions, and looks for what models name",
  async () => {
    const cannot = "Cannot run the statement of";
    const found = [
      `error ${cannot} tool gone: relation "orderz" does not exist`,
      `error ${cannot} tool vague: operator does not exist: state = text`,
      `error ${cannot} resource custom://x: column "missing" does not exist`,
      `error ${cannot} question "how many open orders": relation "ordres" does not exist`,
      "warning Models name what the role does not find, and go without it: column totl (measure revenue of model order)",
    ];
    const told = (results: Awaited<ReturnType<typeof look>>) =>
      results?.map((result) => result.ok ? result.note : `${result.severity} ${result.message}`);
    assert.deepEqual(told(await look(faulty)), found);
    // what the server itself lacks, callers with rights of their own may have
    assert.deepEqual(
      told(await look(faulty, { sessionSettings: { "app.tenant": "{username}" } })),
      found.map((text) => text.replace(/^error/, "warning")),
    );
  },
);

testWithPgvector("the doctor says how much of the definitions is fine", async () => {
  const results = await look(`
tools:
  - name: by_total
    description: x
    type: sql
    sql: SELECT 1 / $1::int FROM orders LIMIT $1::int -- as many
    input_schema: { type: object, properties: { n: { type: integer } } }
models:
  - { name: order, database: DATABASE, table: orders }
`);
  assert.deepEqual(results, [
    { check: "definitions", ok: true, note: "1 statement" },
    { check: "models", ok: true, note: "1 model" },
  ]);
  assert.deepEqual(await look("tools: []"), []);
});
