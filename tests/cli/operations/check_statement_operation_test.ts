import assert from "node:assert/strict";
import { checkStatement } from "../../../src/cli/operations/check_statement_operation.ts";

async function check(sql: string) {
  const lines: string[] = [];
  const code = await checkStatement(sql, { json: true }, (line) => lines.push(line));
  return { code, ...JSON.parse(lines.join("\n")) };
}

const deep = `SELECT ${"(".repeat(3_000)}1${")".repeat(3_000)}`;
const refused: [sql: string, rule: string][] = [
  ["SELEC 1", "grammar"],
  ["SELECT '", "grammar"],
  ["", "one_statement"],
  ["SELECT 1; SELECT 2", "one_statement"],
  ["INSERT INTO a VALUES (1)", "reads_only"],
  ["SELECT 1 INTO a", "reads_only"],
  ["SELECT * FROM a FOR UPDATE", "reads_only"],
  ["EXPLAIN DELETE FROM a", "reads_only"],
  ["WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a", "reads_only"],
  ["SELECT lo_import('x')", "refused_functions"],
  ["SELECT (1).pg_read_file", "refused_functions"],
  ["SELECT pg_sleep(x) FROM a", "refused_functions"],
  ["SELECT * FROM postern_state.records", "own_schema"],
  ["SELECT $1", "parameters"],
  ["SELECT repeat('x', 2000000000)", "value_size"],
];
for (const [sql, rule] of refused) {
  Deno.test(`-check-statement refuses ${JSON.stringify(sql.slice(0, 60))} by the rule ${rule}`, async () => {
    const { code, result, rule: found } = await check(sql);
    assert.deepEqual([code, result, found], [1, "refused", rule]);
  });
}

Deno.test("-check-statement refuses what is too deep, whichever rule finds it", async () => {
  const { code, rule, reason } = await check(deep);
  assert.equal(code, 1);
  assert.match(rule, /^(?:grammar|depth)$/);
  assert.match(reason, /nested too deeply/);
});

Deno.test("-check-statement leaves to a database what names mean", async () => {
  assert.deepEqual(await check("SELECT 1, 'a'"), { code: 0, result: "may_run", names: [] });
  assert.deepEqual(await check("SHOW work_mem"), { code: 0, result: "may_run", names: [] });
  const { code, result, names } = await check("SELECT id::public.code FROM orders WHERE id = f(1)");
  assert.deepEqual([code, result], [3, "database_decides"]);
  const found = names.map(({ kind, schema, name }: Record<string, string>) => [kind, schema, name]);
  for (
    const each of [["relation", undefined, "orders"], ["type", "public", "code"], [
      "operator",
      undefined,
      "=",
    ]]
  ) {
    assert.ok(
      found.some((name: unknown) => JSON.stringify(name) === JSON.stringify(each)),
      JSON.stringify(found),
    );
  }
});
