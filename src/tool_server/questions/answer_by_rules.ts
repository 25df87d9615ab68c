import type { Catalog } from "../../core/catalog.ts";
import { writeStatement } from "./rules/simple_request.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import type { AnswerQuestion } from "./answer.ts";

/** Answers simple requests over one table without a model, and says of the others what they lack. */
export function createAnswerByRules(
  { schemas }: { readonly schemas: CatalogCache<{ readonly catalog: Catalog }> },
): AnswerQuestion {
  return async ({ text, database, principal, maxRows, offset, signal }) => {
    const { catalog } = await schemas.get(database, { principal, signal });
    const written = writeStatement(text, catalog);
    if (written.kind === "refused") return written;
    const { sql } = written;
    const outcome = await database.read({ principal, sql, signal, maxRows, offset });
    return outcome.ok ? { kind: "rows", sql, outcome } : { kind: "failed", sql, error: outcome.error };
  };
}
