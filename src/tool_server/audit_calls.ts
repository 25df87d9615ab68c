import type { AuditTrail } from "../audit/audit_trail.ts";
import { accountOf, principalKey } from "../core/principal.ts";
import type { CheckScheduler } from "../postgres/guard/check_scheduler.ts";
import type { CallReport } from "./tools/registry.ts";

/** Writes tool calls to the audit trail: who, from where, which tool and database, which statement, how much and how long. */
export function auditCalls(
  audit: AuditTrail,
  fingerprint: CheckScheduler["fingerprint"],
): (report: CallReport) => Promise<void> {
  return async ({ tool, args, context, result, error, elapsedMs }) => {
    const { principal, address, requestId } = context;
    const caller = principalKey(principal);
    const user = accountOf(principal);
    const data = result.structuredContent ?? {};
    const given = typeof args === "object" && args !== null ? args as Record<string, unknown> : {};
    const sql = text(data["sql"]) ?? text(data["query"]) ?? text(given["query"]);
    // a call is accounted for whether or not its caller is still there
    const mark = sql === undefined ? undefined : await fingerprint(sql, { principal, signal: never });
    const database = text(data["database"]) ?? error?.database ?? text(given["database"]);
    const pipeline = text(data["pipeline"]) ?? text(given["pipeline"]);
    const question = text(given["question"]);
    const sources = Array.isArray(data["sources"]) ? data["sources"].flatMap(idOf) : undefined;
    const tokensUsed = data["tokens_used"];
    const rows = data["row_count"] ?? data["count"] ?? data["table_count"];
    audit.record({
      event: "tool_call",
      outcome: result.isError ? "failed" : "ok",
      principal: caller,
      ...(user === undefined ? {} : { user }),
      ...(address === undefined ? {} : { address }),
      tool,
      ...(database === undefined ? {} : { database }),
      ...(pipeline === undefined ? {} : { pipeline }),
      ...(mark === undefined ? {} : { fingerprint: mark }),
      ...(question === undefined ? {} : { question }),
      ...(sources === undefined ? {} : { sources }),
      ...(typeof tokensUsed === "number" ? { tokens_used: tokensUsed } : {}),
      ...(error?.sqlState === undefined ? {} : { sqlstate: error.sqlState }),
      ...(typeof rows === "number" ? { rows } : {}),
      ...(error === undefined ? {} : { reason: error.kind }),
      ...(requestId === undefined ? {} : { request: requestId }),
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
    });
  };
}

const never = new AbortController().signal;

function idOf(source: unknown): string[] {
  return typeof source === "object" && source !== null && "id" in source && typeof source.id === "string"
    ? [source.id]
    : [];
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
