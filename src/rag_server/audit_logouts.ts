import type { AuditTrail } from "../audit/audit_trail.ts";
import { principalKey } from "../core/principal.ts";
import type { LogoutReport } from "./api/logout_endpoint.ts";

/** Writes to the audit trail who ended a session, and from where. */
export function auditLogouts(audit: AuditTrail): (report: LogoutReport) => Promise<unknown> {
  return ({ session, address, requestId }) =>
    audit.record({
      event: "logout",
      outcome: "ok",
      principal: principalKey(session),
      user: session.username,
      address,
      request: requestId,
    });
}
