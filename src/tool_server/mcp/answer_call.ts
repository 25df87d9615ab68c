import type { CallEnd, CallLine, CallReport, Calls } from "../../calls/calls.ts";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { AppError, type ErrorCode } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Span, Tracer } from "../../core/tracing.ts";
import { type CallClient, type CallContext, withSignal } from "../call_context.ts";
import { callError, type Registry } from "../tools/registry.ts";
import { cancelledResult, type ToolResult, type ToolRun } from "../tools/tool.ts";
import type { Tasks, TaskView } from "./tasks.ts";
import { isMap } from "../../core/yaml/value_tree.ts";
import { defined } from "../../core/defined.ts";
import type { Principal } from "../../core/principal.ts";

/** What calls need. */
export interface CallOptions {
  readonly calls: Calls;
  readonly registry: Registry;
  /** Optional: of a statement, for its line in the audit trail. */
  readonly fingerprint?: Fingerprint | undefined;
  /** Optional: traces calls of tools. */
  readonly tracer?: Tracer | undefined;
}

/** The methods that show data, or work with it. */
export const callMethods = [
  "tools/call",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "pgedge/listDatabases",
  "pgedge/selectDatabase",
] as const;

/** A call, of any transport. */
export interface McpCall {
  readonly id: RequestId;
  readonly method: typeof callMethods[number];
  readonly params: Params;
  /** The request's `params._meta`. */
  readonly meta?: unknown;
  /** The name under which it can be cancelled, where that is not the request's id. */
  readonly trackedAs?: string;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** As in `CallContext`. */
  readonly client?: CallClient | undefined;
}

/** Answers a call of any other method than `tools/call`. Throws as `Calls.run`. */
export function answerCall<T extends object>(
  options: CallOptions,
  call: McpCall,
  caller: CallContext,
  run: (context: CallContext) => Promise<T>,
): Promise<T> {
  return runCall(options, call, caller, caller.span, () => ({ isFree: true, run }));
}

/** Calls a tool. Throws as `Registry.prepareCall` and `Calls.run`. */
export async function callTool(
  options: CallOptions,
  call: McpCall,
  caller: CallContext,
): Promise<ToolResult> {
  const { registry } = options;
  const own = options.tracer && beginSpan(options, call, caller);
  const run = runCall<ToolRun>(options, call, caller, own, () => {
    const { name, args } = namedWithArguments(call.params, "call a tool");
    return registry.prepareCall(name, args, caller.principal);
  });
  try {
    const { error: _told, ...result } = await run;
    return result;
  } catch (thrown) {
    // while it waited for its turn
    if (thrown instanceof CallEnded) return cancelledResult({ reason: thrown });
    throw thrown;
  }
}

async function runCall<T extends object>(
  { calls, registry, fingerprint }: CallOptions,
  { id, trackedAs, method, params, signal, client }: McpCall,
  caller: CallContext,
  span: Span | undefined,
  read: () => { readonly isFree: boolean; run(context: CallContext): Promise<T> },
): Promise<T> {
  const { principal } = caller;
  return await calls.run<CallContext, T>({
    principal,
    signal,
    id: trackedAs ?? id,
    span: method === "tools/call" ? span : undefined,
    contextWith: (signal) => withSignal(caller, signal, span, client),
    read,
    report: (end) =>
      reportCall({ method, params, end, isKnown: (name) => registry.isKnown(name, principal), fingerprint }),
  });
}

/**
 * What a `tools/call` or a `prompts/get` asks for.
 * @throws {AppError} `invalid`
 */
export function namedWithArguments({ name, arguments: args = {} }: Params, doing: string) {
  if (typeof name !== "string") {
    throw new AppError("invalid", `Cannot ${doing}: params.name must be a string`);
  }
  if (!isMap(args)) throw new AppError("invalid", `Cannot ${doing}: params.arguments must be an object`);
  return { name, args };
}

/** The same for a client that takes tasks: a call that takes long becomes one. Throws as `callTool`. */
export async function callToolAsTask(
  options: CallOptions,
  tasks: Tasks,
  call: McpCall & { readonly client: CallClient },
  caller: CallContext,
): Promise<ToolResult | TaskView> {
  const { principal, requestId, logger, address, span } = caller;
  const { notifyProgress, canAsk } = call.client;
  // until it is a task, its request's id cancels it
  const underWay = options.calls.underWay.begin(principal, call.signal, call.id);
  try {
    return await tasks.run(principal, underWay.signal, (work) => {
      const client: CallClient = {
        ...call.client,
        notifyProgress: notifyProgress && ((progress, total, message) => {
          work.tell(message);
          notifyProgress(progress, total, message);
        }),
        // who has a handle has called already, and does not call again
        get canAsk() {
          return canAsk && !work.isTask();
        },
      };
      // the call outlives its request, and with it what knows the address
      const lasting: CallContext = { principal, requestId, logger, address, span, signal: work.signal };
      // under a name that no request has: its client's next one may have the same id
      const trackedAs = `task ${work.id}`;
      return callTool(options, { ...call, trackedAs, signal: work.signal, client }, lasting);
    });
  } finally {
    underWay.finish();
  }
}

/**
 * A host that names its span in `params._meta` (SEP-414) is the parent, whatever carries the message; the HTTP request is
 * then another trace's, and linked. Source: Semantic Conventions for MCP, "Context propagation".
 */
function beginSpan({ registry, tracer }: CallOptions, call: McpCall, caller: CallContext): Span | undefined {
  const { id, params: { name, arguments: args = {} } } = call;
  const isKnown = registry.isKnown(name, caller.principal);
  const attributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    // what is no tool is a text of the caller's
    "gen_ai.tool.name": isKnown ? String(name) : undefined,
    "network.transport": caller.requestId === undefined ? "pipe" : "tcp",
    "jsonrpc.request.id": typeof id === "number" ? String(id) : undefined,
  };
  const spanName = isKnown ? `tools/call ${name}` : "tools/call";
  const parent = tracer?.followsCallers ? traceparentOf(call.meta) : undefined;
  const isOfRequest = parent === undefined && caller.requestId !== undefined;
  const span = isOfRequest
    ? caller.span?.begin(spanName, "server", attributes)
    : tracer?.begin(parent, () => ({ name: spanName, kind: "server", attributes, link: caller.span }));
  span?.setText("gen_ai.tool.call.arguments", () => JSON.stringify(args));
  return span;
}

function traceparentOf(meta: unknown): string | undefined {
  const traceparent = isMap(meta) ? meta["traceparent"] : undefined;
  return typeof traceparent === "string" ? traceparent : undefined;
}

/** Of a statement: equal for equal statements, and undefined for what is none. */
type Fingerprint = (
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
