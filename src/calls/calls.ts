import { defined } from "../core/defined.ts";
import type { AuditEvent, AuditTrail } from "../audit/audit_trail.ts";
import type { Logger } from "../core/logger.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import { accountOf, type Principal, principalKey } from "../core/principal.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import { errorType, type Span } from "../core/tracing.ts";
import type { State } from "../state/state.ts";
import { createCallsUnderWay, type RequestId } from "./calls_under_way.ts";
import type { CallCount, RecentCalls } from "./recent_calls.ts";

/** What a call carries besides what it asks. */
export interface CallContext {
  readonly principal: Principal;
  /** Aborts when the client disconnects or cancels, when its access ends, its time is over or the server stops. */
  readonly signal: AbortSignal;
  /** Optional: names the request. Stdio has none. */
  readonly requestId?: string | undefined;
  /** Bound to the request's id. */
  readonly logger: Logger;
  /** Optional: the client's address. Stdio has none. */
  readonly address?: string | undefined;
  /** Optional: traces what the call does. */
  readonly span?: Span | undefined;
}

/** A call of either server. */
export interface Call<Context extends CallContext, Result> {
  readonly principal: Principal;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** Optional: what a cancellation names it by. */
  readonly id?: RequestId | undefined;
  /** Optional: a span of its own, which ends with it. */
  readonly span?: Span | undefined;
  /** What the call carries, with the signal that ends it. */
  contextWith(signal: AbortSignal): Context;
  /** Reads and checks what is asked. What it throws is refused before the call counts. */
  read(): CallWork<Context, Result>;
  report(end: CallEnd<Context, Result>): CallReport;
}

/** What is left to do of a call that was read. */
interface CallWork<Context, Result> {
  /** Optional: whether it counts in no limit. */
  readonly isFree?: boolean | undefined;
  /** Optional: how long it may take from now on; 0 is for ever. */
  readonly timeoutMs?: number;
  run(context: Context): Promise<Result>;
}

/** How a call ended: with a result, or with what was thrown. */
export type CallEnd<Context, Result> =
  & { readonly context: Context; readonly elapsedMs: number }
  & ({ readonly result: Result } | { readonly thrown: unknown });

/** What is told of a call that has ended. */
export interface CallReport {
  /** Optional: what counts it. A tool that does not exist has an empty name. */
  readonly counted?: CallCount | undefined;
  /** Optional: what an operator should hear of. */
  readonly incident?: CallIncident | undefined;
  /** Optional: what its span says of a result that tells of an error. */
  readonly errorType?: string | undefined;
  /** What its line in the audit trail says besides who called, from where and how long; undefined: it has none. */
  line(): CallLine | undefined | Promise<CallLine | undefined>;
}

/** A statement that failed or was refused, or a call that there was no room for. */
export interface CallIncident {
  readonly tool: string;
  readonly kind: string;
  readonly database?: string | undefined;
  readonly sqlState?: string | undefined;
}

export type CallLine = Partial<AuditEvent> & Pick<AuditEvent, "event">;

export interface CallsOptions {
  /** Optional: counts callers' use. */
  readonly quotas?: Pick<Quotas, "isOn" | "begin"> | undefined;
  /** Optional: each call has its line there before its reply. */
  readonly audit?: Pick<AuditTrail, "admit" | "recordCall"> | undefined;
  /** Optional: counts calls and how long they took. */
  readonly metrics?: Pick<ServerMetrics, "toolCalled" | "queryEnded"> | undefined;
  /** Optional: what other processes share, where a cancellation may arrive at one of them. */
  readonly state?: State | undefined;
  /** Optional: told of what an operator should hear of. */
  readonly onIncident?:
    | ((incident: CallIncident, context: CallContext, elapsedMs: number) => void)
    | undefined;
  /** Optional: told of each call that counts. */
  readonly recentCalls?: Pick<RecentCalls, "add"> | undefined;
}

export type Calls = ReturnType<typeof createCalls>;

/** The one way of a call, from an admitted principal to what its reply is made of. */
export function createCalls(options: CallsOptions = {}) {
  const { quotas, audit, metrics, state, onIncident, recentCalls } = options;
  const underWay = createCallsUnderWay({ state });

  function tell<Context extends CallContext, Result>(
    call: Call<Context, Result>,
    end: CallEnd<Context, Result>,
  ): CallReport {
    const report = call.report(end);
    const { counted, incident } = report;
    const { context, elapsedMs } = end;
    call.span?.end("thrown" in end ? errorType(end.thrown) : report.errorType);
    if (counted?.of === "tool") metrics?.toolCalled(counted.name, counted.result, elapsedMs);
    if (counted?.of === "question") metrics?.queryEnded(counted.name, counted.result, elapsedMs);
    if (counted !== undefined) recentCalls?.add(context.principal, counted, elapsedMs);
    if (incident !== undefined) onIncident?.(incident, context, elapsedMs);
    return report;
  }

  async function account<Context extends CallContext, Result>(
    call: Call<Context, Result>,
    end: CallEnd<Context, Result>,
  ): Promise<void> {
    const report = tell(call, end);
    const line = audit && await report.line();
    if (audit === undefined || line === undefined) return;
    const { context: { principal, address, requestId }, elapsedMs } = end;
    const user = accountOf(principal);
    await audit.recordCall({
      outcome: "ok",
      principal: principalKey(principal),
      ...defined({ user, address }),
      ...line,
      ...defined({ request: requestId }),
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
    });
  }

  return {
    /**
     * Runs a call within its caller's limits, so that it can be ended, and keeps account of it before it resolves.
     *
     * @throws what `read` and `run` throw; {@linkcode AppError} `quota_exceeded` where its caller has used up a limit,
     * `overloaded` where no account can be kept of it; {@linkcode CallEnded} where it ends before its turn
     */
    async run<Context extends CallContext, Result>(call: Call<Context, Result>): Promise<Result> {
      try {
        audit?.admit();
      } catch (thrown) {
        tell(call, { context: call.contextWith(call.signal), elapsedMs: 0, thrown });
        throw thrown;
      }
      const { signal, limit, finish } = underWay.begin(call.principal, call.signal, call.id);
      const context = call.contextWith(signal);
      let startedAt = performance.now();
      let leave = () => {};
      let end: { readonly result: Result } | { readonly thrown: unknown };
      try {
        const { isFree, timeoutMs = 0, run } = call.read();
        startedAt = performance.now();
        limit(timeoutMs);
        // it heeds the signal itself: a place that comes at the same moment is not lost
        if (quotas?.isOn && !isFree) leave = await quotas.begin(call.principal, signal);
        // whoever has gone costs nothing more
        signal.throwIfAborted();
        end = { result: await run(context) };
      } catch (thrown) {
        end = { thrown };
      }
      leave();
      finish();
      try {
        await account(call, { context, elapsedMs: performance.now() - startedAt, ...end });
      } catch (unaccounted) {
        // an error shows no data
        if ("result" in end) throw unaccounted;
      }
      if ("thrown" in end) throw end.thrown;
      return end.result;
    },
    underWay,
    [Symbol.dispose]: underWay[Symbol.dispose],
  };
}
