import type { Database } from "../../../../src/postgres/database.ts";
import type { StatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { checkFilter } from "../../../../src/rag_server/filter/check_filter.ts";
import { createVerifiedAnswers } from "../../../../src/tool_server/questions/answer.ts";
import { compilePhrasing } from "../../../../src/tool_server/questions/verified/phrasing.ts";
import { createVerifiedQuestions } from "../../../../src/tool_server/questions/verified/verified_questions.ts";
import { countRows } from "../../../../src/tool_server/tools/count_rows.ts";
import { createDatabaseDirectory } from "../../../../src/tool_server/tools/databases/database_directory.ts";
import { executeExplain } from "../../../../src/tool_server/tools/execute_explain.ts";
import { queryDatabase } from "../../../../src/tool_server/tools/query_database.ts";
import { callTool } from "../../../support/tool_fixture.ts";
import type { FuzzStatement } from "./generated_statements.ts";
import { sqlTool } from "../../../../src/tool_server/definitions/offered_definitions.ts";
import { readInputSchema } from "../../../../src/tool_server/definitions/tool_definitions.ts";

const principal = { kind: "local" } as const;
const { signal } = new AbortController();

/** The ways in which a caller's or an administrator's statement comes to a database. */
export function waysToRun(database: Database, guard: StatementGuard) {
  const name = database.name;
  const directory = createDatabaseDirectory([{
    kind: "database",
    name,
    available_to_users: [],
    database,
  }]);
  const options = { directory, guard };

  async function asDefinition({ sql, parameters }: FuzzStatement): Promise<void> {
    const properties = Object.fromEntries(parameters.map((_, at) => [`p${at}`, { type: "string" }]));
    const { input } = readInputSchema({ properties });
    if (input === undefined) throw new Error("expected an input schema");
    const tool = sqlTool(
      { name: "own", title: "Own", description: "Own", sql, input, availableToUsers: [] },
      options,
    );
    await callTool(tool, Object.fromEntries(parameters.map((value, at) => [`p${at}`, value])));
  }

  async function asVerifiedQuestion({ sql, parameters }: FuzzStatement): Promise<void> {
    const its = parameters.map((value, at) => ({
      name: `p${at}`,
      description: "",
      type: "text" as const,
      values: [{ value, words: [["green"]], label: "green" }],
    }));
    const text = ["fuzz", ...parameters.map((_, at) => `{p${at}}`)].join(" and ");
    const questions = createVerifiedQuestions([{
      kind: "question",
      name: text,
      description: "",
      database: name,
      available_to_users: [],
      texts: [text],
      phrasings: [compilePhrasing(text, its)],
      sql,
      arguments: its,
    }]);
    const verified = createVerifiedAnswers({ knowledge: () => ({ questions }), now: Date.now });
    const query = text.replace(/\{p\d+\}/g, "green");
    await callTool(queryDatabase({ ...options, verified, hasVerified: true }), { query });
  }

  async function asFilter({ sql, parameters, filter }: FuzzStatement): Promise<void> {
    if (filter === undefined) throw new Error("expected a filter");
    const checked = await checkFilter(database, [filter.table], filter.filter, { signal }).then(
      () => true,
      () => false,
    );
    if (checked) await database.read({ principal, sql, parameters, signal, trusted: true });
  }

  return {
    "pipeline's filter": asFilter,
    read: ({ sql, parameters }: FuzzStatement) => database.read({ principal, sql, parameters, signal }),
    query_database: ({ sql }: FuzzStatement) => callTool(queryDatabase(options), { query: sql }),
    execute_explain: ({ sql }: FuzzStatement) =>
      callTool(executeExplain(options), { query: sql.replace(/^EXPLAIN (\(.*?\) )?/, "") }),
    "execute_explain without analyze": ({ sql }: FuzzStatement) =>
      callTool(executeExplain(options), { query: sql.replace(/^EXPLAIN (\(.*?\) )?/, ""), analyze: false }),
    count_rows: ({ count }: FuzzStatement) => callTool(countRows(options), count),
    definition: asDefinition,
    "verified question": asVerifiedQuestion,
  };
}
