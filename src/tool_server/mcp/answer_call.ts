import { AppError } from "../../core/app_error.ts";
import { isMap } from "../../core/document/value_tree.ts";
import { errorType, type Span, type Tracer } from "../../core/tracing.ts";
import type { Registry } from "../tools/registry.ts";
import { type CallClient, type CallContext, withSignal } from "../call_context.ts";
import type { ToolResult, ToolRun } from "../tools/tool.ts";
import type { InFlight, RequestId } from "./in_flight.ts";
import type { Tasks, TaskView } from "./tasks.ts";

/** What calls need, and those that are under way in all transports. */
export interface Calls {
  readonly registry: Registry;
  readonly inFlight: InFlight;
  /** Optional: without it nobody keeps account. */
  readonly account?: CallAccount | undefined;
  /** Absent where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** Keeps account of each call, whatever the transport. */
export interface CallAccount {
  /** Refuses a call that is to begin, where no account could be kept of it. */
  admit(): void;
  /** The reply waits for it, so that no caller reads of a call that is not accounted for, and is refused where it throws. */
  ended(report: CallReport): Promise<void>;
}

/** A call that has ended. */
export interface CallReport {
  readonly method: string;
  readonly params: Params;
  readonly context: CallContext;
  /** Of a tool: a `ToolRun`. Absent where the call threw. */
  readonly result?: object;
  readonly thrown?: unknown;
  readonly elapsedMs: number;
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

/** The request's `params`. */
export type Params = Readonly<Record<string, unknown>>;

/** A call of either transport. */
export interface Call {
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

/** Runs a call, so that it can be cancelled and is accounted for. Throws what `run` throws, and as `CallAccount`. */
export function answerCall<T extends object>(
  { inFlight, account }: Calls,
  { id, trackedAs, method, params, signal, client }: Call,
  caller: CallContext,
  run: (context: CallContext) => Promise<T>,
  span: Span | undefined,
): Promise<T> {
  return inFlight.track(caller.principal, trackedAs ?? id, signal, async (signal) => {
    const context = withSignal(caller, signal, span, client);
    if (account === undefined) return await run(context);
    account.admit();
    const startedAt = performance.now();
    const end = await run(context).then((result) => ({ result }), (thrown: unknown) => ({ thrown }));
    await account.ended({ method, params, context, ...end, elapsedMs: performance.now() - startedAt });
    if ("thrown" in end) throw end.thrown;
    return end.result;
  });
}

/** Calls a tool, which is traced too. Throws as `Registry.callTool`. */
export async function callTool(calls: Calls, call: Call, caller: CallContext): Promise<ToolResult> {
  const span = calls.tracer && beginSpan(calls, call, caller);
  const run = async (context: CallContext) => {
    const { name, args } = toolCall(call.params);
    return await calls.registry.callTool(name, args, context);
  };
  const answered = answerCall(calls, call, caller, run, span);
  const { error: _told, ...result } = await (span === undefined ? answered : traced(span, answered));
  return result;
}

/**
 * What a `tools/call` calls.
 * @throws {AppError} `invalid`
 */
function toolCall(
  { name, arguments: args = {} }: Params,
): { readonly name: string; readonly args: Params } {
  if (typeof name !== "string") {
    throw new AppError("invalid", "Cannot call a tool: params.name must be a string");
  }
  if (!isMap(args)) {
    throw new AppError("invalid", "Cannot call a tool: params.arguments must be an object");
  }
  return { name, args };
}

/** The same for a client that takes tasks: a call that takes long becomes one. Throws as `callTool`. */
export function callToolAsTask(
  calls: Calls,
  tasks: Tasks,
  call: Call & { readonly client: CallClient },
  caller: CallContext,
): Promise<ToolResult | TaskView> {
  const { principal, requestId, logger, address, span } = caller;
  const { notifyProgress, canAsk } = call.client;
  return calls.inFlight.track(
    principal,
    call.id,
    call.signal,
    (signal) =>
      tasks.run(principal, signal, (work) => {
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
        return callTool(calls, { ...call, trackedAs, signal: work.signal, client }, lasting);
      }),
  );
}

async function traced(span: Span, call: Promise<ToolRun>): Promise<ToolRun> {
  try {
    const result = await call;
    span.end(result.isError ? "tool_error" : undefined);
    return result;
  } catch (thrown) {
    span.end(errorType(thrown));
    throw thrown;
  }
}

/**
 * A host that names its span in `params._meta` (SEP-414) is the parent, whatever carries the message; the HTTP request is
 * then another trace's, and linked. Source: Semantic Conventions for MCP, "Context propagation".
 */
function beginSpan({ registry, tracer }: Calls, call: Call, caller: CallContext): Span | undefined {
  const { id, params: { name, arguments: args = {} } } = call;
  const isKnown = registry.listTools(caller.principal).some((tool) => tool.name === name);
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
