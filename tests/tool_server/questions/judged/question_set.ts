import { demoShopSql } from "../../../../src/demo/demo_shop.ts";
import { createTestDatabase, type TestDatabase } from "../../../support/database.ts";
import { erpQuestions } from "./erp_questions.ts";
import { erpSchemaSql } from "./erp_schema.ts";
import { hospitalQuestions } from "./hospital_questions.ts";
import type { Question, QuestionSchema } from "./question.ts";
import { shopQuestions } from "./shop_questions.ts";

/** All questions, those of one database together. */
export const questions: readonly Question[] = [
  ...shopQuestions.map((question) => ({ schema: "shop" as const, ...question })),
  ...hospitalQuestions.map((question) => ({ schema: "hospital" as const, ...question })),
  ...erpQuestions.map((question) => ({ schema: "erp" as const, ...question })),
];

/** A database for each schema, filled and analyzed; dropped when disposed of. */
export interface QuestionDatabases extends AsyncDisposable {
  readonly databases: Readonly<Record<QuestionSchema, TestDatabase>>;
}

/**
 * Makes the databases on the server of TEST_DATABASE_URL, which takes some seconds for the 2,000 tables of the ERP.
 * The shop's newest orders are of the day before `now`; its questions speak of "last month".
 */
export async function createQuestionDatabases(now: Date = new Date()): Promise<QuestionDatabases> {
  await using made = new AsyncDisposableStack();
  const open = async (sql: readonly string[]) => {
    const database = made.use(await createTestDatabase());
    // one string is one transaction, and one wait for the disk
    await database.query(sql.join(";\n"));
    return database;
  };
  const databases = {
    shop: await open(await shopSql(now)),
    hospital: await open([await readSql("hospital_schema.sql"), await readSql("hospital_data.sql")]),
    erp: await open([...erpSchemaSql(), await readSql("erp_data.sql")]),
  };
  const kept = made.move();
  return { databases, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Without the demo's role, which would be there for the whole server, and with statistics of what stands on tables too. */
async function shopSql(now: Date): Promise<string[]> {
  return [...(await demoShopSql(now)).filter((sql) => !sql.startsWith("CREATE ROLE")), "ANALYZE"];
}

function readSql(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, import.meta.url));
}
