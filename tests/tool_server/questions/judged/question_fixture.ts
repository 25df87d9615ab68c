import { silentLogger } from "../../../../src/core/logger.ts";
import type { CompletionProvider } from "../../../../src/llm/provider.ts";
import { type CatalogCache, createCatalogCache } from "../../../../src/postgres/catalog/catalog_cache.ts";
import { createConnectionPools } from "../../../../src/postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { createAnswerByModel } from "../../../../src/tool_server/questions/answer_by_model.ts";
import {
  type Answer,
  createVerifiedAnswers,
  type Question as AskedQuestion,
} from "../../../../src/tool_server/questions/answer.ts";
import { createHistory } from "../../../../src/tool_server/questions/history.ts";
import type { Knowledge } from "../../../../src/tool_server/questions/prompt_knowledge.ts";
import {
  createSchemaIndex,
  type SchemaIndex,
} from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { memoryState } from "../../../support/state.ts";
import { databaseOptions } from "../../../support/database_options.ts";
import type { QuestionSchema } from "./question.ts";
import { createQuestionDatabases } from "./question_set.ts";

export interface QuestionFixture extends AsyncDisposable {
  readonly databases: Readonly<Record<QuestionSchema, Database>>;
  schemas(options: { sampleValues: boolean }): CatalogCache<SchemaIndex>;
  /** Answers as the tool does, with a history of its own. */
  answerer(options: {
    completion: CompletionProvider;
    schemas: CatalogCache<SchemaIndex>;
    schemaTokens: number;
    /** What an administrator wrote down; absent: nothing. */
    knowledge?: Knowledge;
  }): (schema: QuestionSchema, text: string) => Promise<Answer>;
}

/** The questions' databases as the tools see them. */
export async function createQuestionFixture(): Promise<QuestionFixture> {
  await using opening = new AsyncDisposableStack();
  const made = opening.use(await createQuestionDatabases());
  const guard = await createStatementGuard();
  const pools = opening.use(createConnectionPools({ maxConnections: 10, logger: silentLogger }));
  const open = (name: QuestionSchema) =>
    createDatabase({
      options: databaseOptions(made.databases[name].url, { name }),
      pools,
      guard,
      logger: silentLogger,
    });
  const databases = { shop: open("shop"), hospital: open("hospital"), erp: open("erp") };
  const stack = opening.move();
  return {
    databases,
    schemas: ({ sampleValues }) =>
      stack.use(createCatalogCache({
        prepare: createSchemaIndex,
        ...(sampleValues ? { samples: { excludedColumns: [] } } : {}),
        now: Date.now,
        logger: silentLogger,
      })),
    answerer({ completion, schemas, schemaTokens, knowledge }) {
      const history = createHistory(stack.use(memoryState()), silentLogger);
      const answer = createAnswerByModel({
        completion,
        schemas,
        guard,
        history,
        knowledge: () => knowledge,
        schemaTokens,
        now: Date.now,
      });
      const verified = knowledge &&
        createVerifiedAnswers({ knowledge: () => knowledge, history, now: Date.now });
      return async (schema, text) => {
        const question = questionOf(databases[schema], text);
        return await verified?.answer(question) ?? await answer(question);
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function questionOf(database: Database, text: string): AskedQuestion {
  const { signal } = new AbortController();
  return {
    text,
    database,
    principal: { kind: "local" },
    maxRows: 1_000,
    offset: 0,
    signal,
    logger: silentLogger,
  };
}
