import type { AuditTrail } from "../audit/audit_trail.ts";
import { accountOf, principalKey } from "../core/principal.ts";
import type { QueryReport } from "./api/query_endpoint.ts";

/** Of the documents in a prompt, the most that a line of the trail names. */
const mostSources = 100;

/**
 * Writes questions to the audit trail: who, from where, which pipeline, what was asked, which documents were in the prompt, what it
 * took and how long.
 */
export function auditQueries(audit: AuditTrail): (report: QueryReport) => Promise<void> {
  return async ({ pipeline, question, answer, result, reason, elapsedMs, caller, address, requestId }) => {
    const user = accountOf(caller);
    const ids = answer?.sources.flatMap(({ id }) => id ?? []).slice(0, mostSources);
    await audit.recordCall({
      event: "query",
      outcome: result,
      principal: principalKey(caller),
      ...(user === undefined ? {} : { user }),
      address,
      pipeline,
      ...(question === undefined ? {} : { question }),
      ...(ids === undefined ? {} : { sources: ids }),
      ...(answer === undefined ? {} : { tokens_used: answer.tokensUsed }),
      ...(reason === undefined ? {} : { reason }),
      request: requestId,
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
    });
  };
}
