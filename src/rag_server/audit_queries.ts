import type { AuditTrail } from "../audit/audit_trail.ts";
import { accountOf, principalKey } from "../core/principal.ts";
import type { QueryReport } from "./api/query_endpoint.ts";

/** Writes questions to the audit trail: who, from where, which pipeline and how long; not what was asked. */
export function auditQueries(audit: AuditTrail): (report: QueryReport) => void {
  return ({ pipeline, result, elapsedMs, caller, address, requestId }) => {
    const user = accountOf(caller);
    audit.record({
      event: "query",
      outcome: result,
      principal: principalKey(caller),
      ...(user === undefined ? {} : { user }),
      address,
      pipeline,
      request: requestId,
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
    });
  };
}
