import { spanned } from "../../core/tracing.ts";
import type { Catalog } from "../../postgres/catalog/catalog.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { type AnswerQuestion, runStatement } from "./answer.ts";
import { writeStatement } from "./rules/simple_request.ts";

/** Answers simple requests over one table without a model. For other requests it says what is missing. */
export function createAnswerByRules(
  { schemas }: { readonly schemas: CatalogCache<{ readonly catalog: Catalog }> },
): AnswerQuestion {
  return async (question) => {
    const { text, userAnswer, database, principal, signal, span, onStep } = question;
    onStep?.("catalog");
    const { catalog } = await spanned(span, "catalog", () => schemas.get(database, { principal, signal }));
    const written = writeStatement(text, catalog, userAnswer);
    if (written.kind === "refused") return written;
    onStep?.("run");
    return await runStatement(question, written.sql);
  };
}
