import { CallEnded, type EndOfCall } from "../../core/async/abort.ts";
import { callerKey, endOf, type Principal, principalKey } from "../../core/principal.ts";

export type RequestId = string | number | null;

/** How often it is asked whose tokens have ended: one timer for all calls, as most take a few milliseconds. */
const endCheckMs = 1_000;

const tokenEnded: EndOfCall = "its token or session has ended";

/** Whether a message is the notification that cancels a call. */
export function isCancellation(message: unknown): message is { params?: { requestId?: unknown } } {
  return typeof message === "object" && message !== null && "method" in message &&
    message.method === "notifications/cancelled" && !("id" in message);
}

/**
 * The calls under way, so that `notifications/cancelled`, which arrives as a request of its own, finds the one it
 * means (MCP, Cancellation). A principal reaches only its own calls, and without authentication an address its own.
 */
export function createInFlight({ checkEveryMs = endCheckMs }: { readonly checkEveryMs?: number } = {}) {
  const calls = new Map<string, Set<AbortController>>();
  // of calls whose tokens end by themselves; in milliseconds since 1970
  const ends = new Map<AbortController, number>();
  let timer: ReturnType<typeof setInterval> | undefined;
  const prefixOf = (principal: Principal) => `${JSON.stringify(principalKey(principal))} `;
  // a JSON text tells the id 1 from the id "1"
  const keyOf = (principal: Principal, id: unknown) =>
    `${prefixOf(principal)}${JSON.stringify(callerKey(principal))} ${JSON.stringify(id)}`;

  function abortAll(why: EndOfCall, isMeant: (key: string) => boolean): void {
    for (const [key, group] of [...calls]) {
      if (!isMeant(key)) continue;
      for (const controller of group) controller.abort(new CallEnded(why));
    }
  }

  function watchEnd(controller: AbortController, endsAt: number): void {
    if (endsAt === Infinity) return;
    ends.set(controller, endsAt);
    if (timer !== undefined) return;
    timer = setInterval(endThoseOver, checkEveryMs);
  }
  function endThoseOver(): void {
    const time = Date.now();
    for (const [controller, endsAt] of ends) if (endsAt <= time) controller.abort(new CallEnded(tokenEnded));
    if (ends.size === 0) stopTimer();
  }
  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** Runs `call` with a signal that aborts with `signal`, when the call is cancelled or when its token ends. */
    async track<T>(
      principal: Principal,
      id: RequestId,
      signal: AbortSignal,
      call: (signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      const key = keyOf(principal, id);
      const controller = new AbortController();
      const abort = () => controller.abort(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
      const group = calls.get(key) ?? new Set();
      calls.set(key, group.add(controller));
      watchEnd(controller, endOf(principal));
      try {
        return await call(controller.signal);
      } finally {
        signal.removeEventListener("abort", abort);
        ends.delete(controller);
        group.delete(controller);
        if (group.size === 0) calls.delete(key);
      }
    },

    /** Cancels the call of that id; of several clients that share a token and chose the same id, none is touched. */
    cancel(principal: Principal, id: unknown): void {
      const group = calls.get(keyOf(principal, id));
      if (group?.size !== 1) return;
      for (const controller of group) controller.abort(new CallEnded("its caller cancelled it"));
    },

    /** Cancels every call of a principal: its token or session has ended. */
    cancelPrincipal(principal: Principal): void {
      const prefix = prefixOf(principal);
      abortAll(tokenEnded, (key) => key.startsWith(prefix));
    },

    /** Cancels every call: the server stops. */
    cancelAll: (): void => abortAll("the server stops", () => true),
    [Symbol.dispose]: stopTimer,
  };
}

export type InFlight = ReturnType<typeof createInFlight>;
