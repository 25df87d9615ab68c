import { errorType, type Span, type Tracer } from "../../core/tracing.ts";
import type { Registry } from "../tools/registry.ts";
import { type CallClient, type CallContext, withSignal } from "../call_context.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { InFlight, RequestId } from "./in_flight.ts";
import type { Tasks, TaskView } from "./tasks.ts";

/** What calls of tools need, and the calls that are under way in all transports. */
export interface ToolCalls {
  readonly registry: Registry;
  readonly inFlight: InFlight;
  /** Absent where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** A `tools/call` of either transport. */
interface ToolCall {
  readonly id: RequestId;
  readonly name: string;
  readonly args: unknown;
  /** The request's `params._meta`. */
  readonly meta: unknown;
  /** The name under which it can be cancelled, where that is not the request's id. */
  readonly trackedAs?: string;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** As in `CallContext`. */
  readonly client?: CallClient | undefined;
}

/** Calls a tool, so that it can be cancelled and is traced. Throws as `Registry.callTool`. */
export function callTool(calls: ToolCalls, call: ToolCall, caller: CallContext): Promise<ToolResult> {
  const span = calls.tracer && beginSpan(calls, call, caller);
  return span === undefined ? track(calls, call, caller) : traced(span, track(calls, call, caller, span));
}

/** The same for a client that takes tasks: a call that takes long becomes one. Throws as `callTool`. */
export function callToolAsTask(
  calls: ToolCalls,
  tasks: Tasks,
  call: ToolCall & { readonly client: CallClient },
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

function track(
  { registry, inFlight }: ToolCalls,
  { id, trackedAs, name, args, signal, client }: ToolCall,
  caller: CallContext,
  span?: Span,
): Promise<ToolResult> {
  return inFlight.track(
    caller.principal,
    trackedAs ?? id,
    signal,
    (signal) => registry.callTool(name, args, withSignal(caller, signal, span, client)),
  );
}

async function traced(span: Span, call: Promise<ToolResult>): Promise<ToolResult> {
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
function beginSpan({ registry, tracer }: ToolCalls, call: ToolCall, caller: CallContext): Span | undefined {
  const { id, name, args } = call;
  const isKnown = registry.listTools(caller.principal).some((tool) => tool.name === name);
  const attributes = {
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    // what is no tool is a text of the caller's
    "gen_ai.tool.name": isKnown ? name : undefined,
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
  if (typeof meta !== "object" || meta === null || !("traceparent" in meta)) return undefined;
  return typeof meta.traceparent === "string" ? meta.traceparent : undefined;
}
