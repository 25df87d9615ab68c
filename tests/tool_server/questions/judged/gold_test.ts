import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createStatementGuard, type StatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { type TestDatabase, testWithPostgres } from "../../../support/database.ts";
import { erpSchemaSql } from "./erp_schema.ts";
import type { AnswerableQuestion, Question } from "./question.ts";
import { createQuestionDatabases, questions } from "./question_set.ts";

Deno.test("every question has an id of its own that begins with its database", () => {
  const ids = questions.map(({ id }) => id);
  assert.deepEqual(ids.filter((id, index) => ids.indexOf(id) !== index), []);
  assert.deepEqual(questions.filter(({ id, schema }) => !id.startsWith(`${schema}_`)), []);
});

Deno.test("the ERP's SQL is the same every time", () => {
  const digest = createHash("sha256").update(erpSchemaSql().join(";\n")).digest("hex");
  assert.equal(digest.slice(0, 16), "22395d1a9497823e");
});

Deno.test("there are enough questions of each sort", () => {
  const count = (condition: (question: Question) => boolean) => questions.filter(condition).length;
  assert.ok(count(({ schema }) => schema === "shop") >= 20);
  assert.ok(count(({ schema }) => schema === "hospital") >= 25);
  assert.ok(count(({ schema }) => schema === "erp") >= 20);
  assert.ok(questions.length >= 75);
  assert.ok(count(({ tags }) => tags?.includes("hard") ?? false) >= 12);
  assert.ok(count(({ after }) => after !== undefined) >= 3);
  assert.ok(count(({ expects }) => expects === "question") >= 2);
});

Deno.test("a question's earlier turns are questions of the same database that stand before it, and begin with a first turn", () => {
  questions.forEach(({ id, schema, after = [] }, index) => {
    const entries = after.map((earlier) =>
      questions.slice(0, index).find((question) => question.id === earlier)
    );
    entries.forEach((entry, position) => {
      assert.equal(entry?.schema, schema, id);
      assert.deepEqual(entry.after ?? [], after.slice(0, position), id);
    });
  });
});

testWithPostgres("the gold statements answer their questions", async (t) => {
  await using made = await createQuestionDatabases();
  const guard = await createStatementGuard();

  for (const question of questions) {
    const database = made.databases[question.schema];
    await t.step(question.id, async () => {
      await requireRelations(database, question);
      if (question.sql !== undefined) await checkGold(database, guard, question);
    });
  }

  await t.step("the ERP has 2,000 tables, all have columns enough", async () => {
    const [row] = await made.databases.erp.query(`SELECT count(*), min(columns), max(columns) FROM (
      SELECT count(*) AS columns FROM information_schema.columns
      WHERE table_schema NOT IN ('pg_catalog', 'information_schema') GROUP BY table_schema, table_name) tables`);
    assert.deepEqual(row, ["2000", "8", "16"]);
  });

  for (const [name, database] of Object.entries(made.databases)) {
    await t.step(`${name} has been analyzed`, async () => {
      const rows = await database.query(`SELECT relname FROM pg_class
        WHERE relkind IN ('r', 'm') AND relnamespace >= 'public'::regnamespace AND reltuples < 0
          AND relnamespace <> 'information_schema'::regnamespace`);
      assert.deepEqual(rows, []);
    });
  }
});

async function checkGold(
  database: TestDatabase,
  guard: StatementGuard,
  { sql, tables }: AnswerableQuestion,
): Promise<void> {
  const result = guard.check(sql);
  assert.ok(result.ok, result.ok ? "" : result.reason);
  const relations = result.names.filter(({ kind }) => kind === "relation");
  const read = await Promise.all(relations.map(({ schema, name }) => relationName(database, schema, name)));
  assert.deepEqual(read.filter((name) => name !== undefined).sort(), [...tables].sort());

  const rows = await database.query(sql);
  assert.ok(rows.length >= 1, "the statement returns no row");
  assert.ok(rows.length <= 300, `${rows.length} rows are more than anyone asks for`);
  assert.ok(rows.some((row) => row.some((value) => value !== null && value !== "0")), "all values are empty");
}

/** What a name stands for, as `schema.name`; undefined for a common table expression. */
async function relationName(
  database: TestDatabase,
  schema: string | undefined,
  name: string,
): Promise<string | undefined> {
  const written = [...(schema === undefined ? [] : [schema]), name].map((part) => `"${part}"`).join(".");
  const [row] = await database.query(`SELECT relnamespace::regnamespace || '.' || relname
    FROM pg_class WHERE oid = to_regclass('${written}')`);
  const found = row?.[0];
  return typeof found === "string" ? found : undefined;
}

async function requireRelations(
  database: TestDatabase,
  { tables, otherTables = [] }: Question,
): Promise<void> {
  for (const table of [...tables, ...otherTables.flat()]) {
    const [schema, name = ""] = table.split(".");
    assert.equal(await relationName(database, schema, name), table);
  }
}
