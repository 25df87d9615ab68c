import type { AuditEvent } from "../../src/audit/audit_trail.ts";
import { type CallsOptions, createCalls } from "../../src/calls/calls.ts";

/** Calls, and what was told of each that ended. */
export function recordCalls(options: Omit<CallsOptions, "audit" | "metrics"> = {}) {
  const lines: AuditEvent[] = [];
  const counted: string[] = [];
  const count = (name: string, result: string | number) => void counted.push(`${name} ${result}`);
  const calls = createCalls({
    ...options,
    audit: { admit() {}, recordCall: (line) => Promise.resolve(void lines.push(line)) },
    metrics: { toolCalled: count, queryEnded: count },
  });
  return {
    calls,
    /** In the audit trail. */
    lines,
    /** The tool or pipeline, and the result, of each call that metrics heard of. */
    counted,
  };
}
