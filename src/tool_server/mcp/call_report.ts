import { defined } from "../../core/defined.ts";
import type { CallEnd, CallLine, CallReport } from "../../calls/calls.ts";
import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Principal } from "../../core/principal.ts";
import type { CallContext } from "../call_context.ts";
import { callError } from "../tools/registry.ts";
import type { ToolRun } from "../tools/tool.ts";
import { isMap } from "../../core/yaml/value_tree.ts";

/** Of a statement: equal for equal statements, and undefined for what is none. */
export type Fingerprint = (
  sql: string,
  caller: { readonly principal: Principal; readonly signal: AbortSignal },
) => Promise<string | undefined>;

/** A request's `params`. */
export type Params = Readonly<Record<string, unknown>>;

/** A call that has ended. */
interface EndedCall {
  readonly method: string;
  readonly params: Params;
  readonly end: CallEnd<CallContext, object>;
  /** Whether its caller may know of a tool of that name. */
  readonly isKnown: (tool: unknown) => boolean;
  readonly fingerprint: Fingerprint | undefined;
}

/** What is told of a call: which tool and database, which statement, how much; never what it showed. */
export function reportCall(call: EndedCall): CallReport {
  const { method, params: { name }, end } = call;
  const refusal = "thrown" in end && end.thrown instanceof AppError ? end.thrown : undefined;
  if (method !== "tools/call") {
    // a task's result has its line when the call ends: before that, nobody can ask for it
    const hasLine = !method.startsWith("tasks/") || refusal !== undefined;
    return { line: () => hasLine ? { ...otherLine(call), ...endOf(end) } : undefined };
  }
  const run: Partial<ToolRun> = "result" in end ? end.result : {};
  const error = run.error ?? (refusal && callError(refusal));
  const isError = run.isError || "thrown" in end;
  return {
    counted: {
      of: "tool",
      name: call.isKnown(name) ? String(name) : "",
      result: error?.kind ?? refusal?.code ?? (isError ? "error" : "ok"),
      details() {
        const data = run.structuredContent ?? {};
        const about = text(data["database"]) ?? error?.database ?? text(data["pipeline"]);
        return defined({ about, rows: rowsOf(data) });
      },
    },
    // that there is no room tells of the server's state, any other refusal of a caller's mistake
    incident: error && (run.error !== undefined || ["overloaded", "quota_exceeded"].includes(error.kind))
      ? { tool: String(name), ...error }
      : undefined,
    errorType: run.isError ? "tool_error" : undefined,
    line: async () => ({ ...await toolLine(call, run), ...endOf(end) }),
  };
}

async function toolLine(
  { params, end: { context: { principal } }, fingerprint }: EndedCall,
  { structuredContent: data = {}, isError, error }: Partial<ToolRun>,
): Promise<CallLine> {
  const given = isMap(params["arguments"]) ? params["arguments"] : {};
  const tool = text(params["name"]);
  const sql = text(data["sql"]) ?? text(data["query"]) ?? text(given["query"]);
  // a call is accounted for whether or not its caller is still there
  const mark = sql === undefined ? undefined : await fingerprint?.(sql, { principal, signal: never });
  const database = text(data["database"]) ?? error?.database ?? text(given["database"]);
  const pipeline = text(data["pipeline"]) ?? text(given["pipeline"]);
  const question = text(given["question"]);
  const address = tool === undefined ? undefined : addressArguments.get(tool);
  const resource = address === undefined ? undefined : text(given[address]);
  const sources = Array.isArray(data["sources"]) ? data["sources"].flatMap(idOf) : undefined;
  const tokensUsed = data["tokens_used"];
  return {
    event: "tool_call",
    ...(isError ? { outcome: "failed" } : {}),
    ...defined({ tool, resource, database, pipeline, fingerprint: mark, question, sources }),
    ...(typeof tokensUsed === "number" ? { tokens_used: tokensUsed } : {}),
    ...(error?.sqlState === undefined ? {} : { sqlstate: error.sqlState }),
    ...defined({ rows: rowsOf(data) }),
    ...(error === undefined ? {} : { reason: error.kind }),
  };
}

function rowsOf(data: Readonly<Record<string, unknown>>): number | undefined {
  const rows = data["row_count"] ?? data["count"] ?? data["table_count"];
  return typeof rows === "number" ? rows : undefined;
}

/** Where tools say what they read; in an administrator's own tools such an argument may hold anything. */
const addressArguments: ReadonlyMap<string, string> = new Map([["read_resource", "uri"], ["fetch", "id"]]);

/** What was read, asked for or completed; the texts that came with it may be anybody's words. */
function otherLine({ method, params, end }: EndedCall): CallLine {
  const result = "result" in end ? end.result : {};
  const ref = isMap(params["ref"]) ? params["ref"] : {};
  const resource = text(params["uri"]) ?? text(ref["uri"]);
  const name = text(params["name"]) ?? text(ref["name"]);
  return {
    event: "call",
    // the methods of pgEdge tell a refusal in their result
    ...("success" in result && result.success === false ? { outcome: "refused" } : {}),
    method,
    ...defined({ resource }),
    ...(name === undefined ? {} : { [method.startsWith("pgedge/") ? "database" : "prompt"]: name }),
  };
}

/** How a call ended that threw. */
function endOf(end: EndedCall["end"]): Partial<CallLine> {
  if (!("thrown" in end)) return {};
  const { thrown } = end;
  // while it waited for its turn
  if (thrown instanceof CallEnded) return { outcome: "failed" };
  const code = thrown instanceof AppError ? thrown.code : "internal";
  const sqlState = thrown instanceof AppError ? text(thrown.data?.["sqlState"]) : undefined;
  return {
    outcome: errors.includes(code) ? "failed" : "refused",
    reason: code,
    ...defined({ sqlstate: sqlState }),
  };
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
