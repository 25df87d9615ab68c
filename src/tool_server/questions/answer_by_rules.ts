import { spanned } from "../../core/tracing.ts";
import type { Catalog } from "../../postgres/catalog/catalog.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { type AnswerQuestion, runStatement } from "./answer.ts";
import { withTableWords } from "./models/table_words.ts";
import type { Knowledge } from "./prompt_knowledge.ts";
import { writeStatement } from "./rules/simple_request.ts";

export interface AnswerByRulesOptions {
  readonly schemas: CatalogCache<{ readonly catalog: Catalog }>;
  /** What an administrator wrote down, as it is at this moment; absent or undefined: nothing. */
  readonly knowledge?: (() => Pick<Knowledge, "models"> | undefined) | undefined;
}

/**
 * Answers simple requests over one table without a model of language. For other requests it says what is missing. A request
 * that is none by the tables' own names may be one by those that an administrator gave them.
 */
export function createAnswerByRules({ schemas, knowledge }: AnswerByRulesOptions): AnswerQuestion {
  return async (question) => {
    const { text, userAnswer, database, principal, signal, span, onStep } = question;
    onStep?.("catalog");
    const { catalog } = await spanned(span, "catalog", () => schemas.get(database, { principal, signal }));
    const models = knowledge?.()?.models.ofCatalog(database, principal, catalog.tables) ?? [];
    let written = writeStatement(text, catalog, userAnswer);
    if (written.kind === "refused" && models.length > 0) {
      const named = writeStatement(withTableWords(text, models), catalog, userAnswer);
      if (named.kind !== "refused") written = named;
    }
    if (written.kind === "refused") return written;
    onStep?.("run");
    return await runStatement(question, written.sql);
  };
}
