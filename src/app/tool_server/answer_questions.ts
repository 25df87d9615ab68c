import { defined } from "../../core/defined.ts";
import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import type { CompletionProvider } from "../../llm/provider.ts";
import { createCatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { createColumnPatterns, withoutListedValues } from "../../postgres/catalog/private_columns.ts";
import type { CheckScheduler } from "../../postgres/guard/check_scheduler.ts";
import type { AnswerQuestion } from "../../tool_server/questions/answer.ts";
import {
  type AnswerByModelOptions,
  createAnswerByModel,
} from "../../tool_server/questions/answer_by_model.ts";
import type { History } from "../../tool_server/questions/history.ts";
import { createSchemaIndex } from "../../tool_server/questions/schema/schema_index.ts";
import type { SchemaChanges } from "../../tool_server/resources/schema_changes.ts";
import { tokensOf } from "../../llm/usage.ts";

export interface WordsOptions {
  readonly llm: Config["llm"];
  readonly completion: CompletionProvider;
  /** Those that `completion` asks. */
  readonly completions: readonly CompletionProvider[];
  readonly history: History;
}

/** What answers requests in words, by a model. Disposing of it stops reading catalogs of its own. */
export function answerQuestions(
  { llm, completion, history, knowledge }: WordsOptions & Pick<AnswerByModelOptions, "knowledge">,
  guard: CheckScheduler,
  schemaChanges: Pick<SchemaChanges, "catalogs" | "look">,
  quotas: Quotas | undefined,
  logger: Logger,
): Disposable & { readonly answerQuestion: AnswerQuestion } {
  const now = Date.now;
  const isExcluded = createColumnPatterns(llm.excluded_columns);
  const schemas = createCatalogCache({
    prepare: ({ catalog, ...rest }) =>
      createSchemaIndex({ catalog: withoutListedValues(catalog, isExcluded), ...rest }),
    ...(llm.sample_values ? { samples: { excludedColumns: llm.excluded_columns } } : {}),
    now,
    logger,
    onChange: schemaChanges.look,
  });
  const answerQuestion = createAnswerByModel({
    completion,
    schemas,
    guard,
    history,
    knowledge,
    schemaTokens: llm.schema_token_budget,
    answerTimeoutMs: llm.request_timeout,
    ...defined({ maxPlanCost: llm.max_plan_cost }),
    onUsage: quotas && ((principal, usage) => quotas.usedTokens(principal, tokensOf(usage))),
    now,
  });
  return {
    answerQuestion(question) {
      quotas?.beforeProvider(question.principal);
      return answerQuestion(question);
    },
    [Symbol.dispose]: schemas[Symbol.dispose],
  };
}
