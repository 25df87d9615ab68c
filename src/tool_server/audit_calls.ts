import type { AuditEvent, AuditTrail } from "../audit/audit_trail.ts";
import { AppError, type ErrorCode } from "../core/app_error.ts";
import { isMap } from "../core/document/value_tree.ts";
import { accountOf, principalKey } from "../core/principal.ts";
import type { CheckScheduler } from "../postgres/guard/check_scheduler.ts";
import type { CallReport } from "./mcp/answer_call.ts";
import type { ToolRun } from "./tools/tool.ts";

/**
 * Writes calls to the audit trail: who, from where, which tool and database, which statement, how much and how long. A task's
 * result has its line when the call ends: before that, nobody can ask for it.
 */
export function auditCalls(
  audit: AuditTrail,
  fingerprint: CheckScheduler["fingerprint"],
): (report: CallReport) => Promise<void> {
  return async (report) => {
    const { method, context, thrown, elapsedMs } = report;
    if (method.startsWith("tasks/") && !(thrown instanceof AppError)) return;
    const { principal, address, requestId } = context;
    const user = accountOf(principal);
    const event = method === "tools/call"
      // a call is accounted for whether or not its caller is still there
      ? await toolEvent(report, (sql) => fingerprint(sql, { principal, signal: never }))
      : otherEvent(report);
    await audit.recordCall({
      outcome: "ok",
      principal: principalKey(principal),
      ...(user === undefined ? {} : { user }),
      ...(address === undefined ? {} : { address }),
      ...event,
      ...endOf(thrown),
      ...(requestId === undefined ? {} : { request: requestId }),
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
    });
  };
}

type Event = Partial<AuditEvent> & Pick<AuditEvent, "event">;

async function toolEvent(
  { params, result }: CallReport,
  fingerprint: (sql: string) => Promise<string | undefined>,
): Promise<Event> {
  const given = isMap(params["arguments"]) ? params["arguments"] : {};
  const { structuredContent: data = {}, isError, error }: Partial<ToolRun> = result ?? {};
  const tool = text(params["name"]);
  const sql = text(data["sql"]) ?? text(data["query"]) ?? text(given["query"]);
  const mark = sql === undefined ? undefined : await fingerprint(sql);
  const database = text(data["database"]) ?? error?.database ?? text(given["database"]);
  const pipeline = text(data["pipeline"]) ?? text(given["pipeline"]);
  const question = text(given["question"]);
  const address = tool === undefined ? undefined : addressArguments.get(tool);
  const resource = address === undefined ? undefined : text(given[address]);
  const sources = Array.isArray(data["sources"]) ? data["sources"].flatMap(idOf) : undefined;
  const tokensUsed = data["tokens_used"];
  const rows = data["row_count"] ?? data["count"] ?? data["table_count"];
  return {
    event: "tool_call",
    ...(isError ? { outcome: "failed" } : {}),
    ...(tool === undefined ? {} : { tool }),
    ...(resource === undefined ? {} : { resource }),
    ...(database === undefined ? {} : { database }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(mark === undefined ? {} : { fingerprint: mark }),
    ...(question === undefined ? {} : { question }),
    ...(sources === undefined ? {} : { sources }),
    ...(typeof tokensUsed === "number" ? { tokens_used: tokensUsed } : {}),
    ...(error?.sqlState === undefined ? {} : { sqlstate: error.sqlState }),
    ...(typeof rows === "number" ? { rows } : {}),
    ...(error === undefined ? {} : { reason: error.kind }),
  };
}

/** Where tools say what they read; in an administrator's own tools such an argument may hold anything. */
const addressArguments: ReadonlyMap<string, string> = new Map([["read_resource", "uri"], ["fetch", "id"]]);

/** What was read, asked for or completed; the texts that came with it may be anybody's words. */
function otherEvent({ method, params, result = {} }: CallReport): Event {
  const ref = isMap(params["ref"]) ? params["ref"] : {};
  const resource = text(params["uri"]) ?? text(ref["uri"]);
  const name = text(params["name"]) ?? text(ref["name"]);
  return {
    event: "call",
    // the methods of pgEdge tell a refusal in their result
    ...("success" in result && result.success === false ? { outcome: "refused" } : {}),
    method,
    ...(resource === undefined ? {} : { resource }),
    ...(name === undefined ? {} : { [method.startsWith("pgedge/") ? "database" : "prompt"]: name }),
  };
}

/** How a call ended that threw. */
function endOf(thrown: unknown): Pick<AuditEvent, "outcome"> | undefined {
  if (thrown === undefined) return undefined;
  const code = thrown instanceof AppError ? thrown.code : "internal";
  const sqlState = thrown instanceof AppError ? text(thrown.data?.["sqlState"]) : undefined;
  const event: Partial<AuditEvent> = {
    reason: code,
    ...(sqlState === undefined ? {} : { sqlstate: sqlState }),
  };
  return { outcome: errors.includes(code) ? "failed" : "refused", ...event };
}

/** Any other code says that a rule said no, or that there is no room. */
const errors: readonly ErrorCode[] = ["internal", "timeout", "unavailable", "upstream"];

const never = new AbortController().signal;

function idOf(source: unknown): string[] {
  const id = isMap(source) ? source["id"] : undefined;
  return typeof id === "string" ? [id] : [];
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
