import { CallEnded, type EndOfCall, onAbort } from "../core/async/abort.ts";
import { startTimer } from "../core/async/deadline.ts";
import { createMessages } from "../state/messages.ts";
import type { State } from "../state/state.ts";
import { bearerKey, callerKey, endOf, type Principal } from "../core/principal.ts";

/** The id of a JSON-RPC request. */
export type RequestId = string | number | null;

/** How often it is asked whose tokens have ended: one timer for all calls, as most take a few milliseconds. */
const endCheckMs = 1_000;

/** A call under way. */
interface CallUnderWay {
  /** Aborts with a `CallEnded`. */
  readonly signal: AbortSignal;
  /** Starts its deadline; 0 is none. */
  limit(timeoutMs: number): void;
  /** It has ended by itself. */
  finish(): void;
}

interface CallsUnderWayOptions {
  readonly checkEveryMs?: number;
  /** Optional: shared with other processes, whose calls can be cancelled from here. */
  readonly state?: State | undefined;
}

/**
 * The calls under way, so that one can be ended from outside: by a message that cancels it (MCP, Cancellation), by the end of
 * its caller's token or session, by its deadline, or by a stop of the server. A principal reaches only its own calls, and
 * without authentication an address its own.
 */
export function createCallsUnderWay({ checkEveryMs = endCheckMs, state }: CallsUnderWayOptions = {}) {
  const calls = new Map<string, Set<AbortController>>();
  // of calls whose tokens end by themselves; in milliseconds since 1970
  const ends = new Map<AbortController, number>();
  let timer: ReturnType<typeof setInterval> | undefined;
  const prefixOf = (principal: Principal) => `${JSON.stringify(bearerKey(principal))} `;
  // a JSON text tells the id 1 from the id "1"
  const keyOf = (principal: Principal, id: unknown) =>
    `${prefixOf(principal)}${JSON.stringify(callerKey(principal))} ${JSON.stringify(id)}`;

  const others = state?.isShared ? createMessages(state, "cancelled call", cancelHere) : undefined;

  /** @returns whether a call had that key */
  function cancelHere(key: string): boolean {
    const group = calls.get(key);
    // of several clients that share a token and chose the same id, none is touched
    if (group?.size === 1) { for (const controller of group) end(controller, "its caller cancelled it"); }
    return group !== undefined;
  }
  function end(controller: AbortController, why: EndOfCall): void {
    controller.abort(new CallEnded(why));
  }
  function endAll(why: EndOfCall, isMeant: (key: string) => boolean): void {
    for (const [key, group] of [...calls]) {
      if (isMeant(key)) { for (const controller of group) end(controller, why); }
    }
  }
  function endThoseOver(): void {
    const time = Date.now();
    for (const [controller, endsAt] of ends) {
      if (endsAt <= time) end(controller, "its token or session has ended");
    }
    if (ends.size === 0) stopTimer();
  }
  function stopTimer(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /**
     * Keeps a call until it is finished.
     *
     * @param signal aborts when the client leaves
     * @param id Optional: what a cancellation names the call by
     */
    begin(principal: Principal, signal: AbortSignal, id?: RequestId): CallUnderWay {
      const key = keyOf(principal, id);
      const controller = new AbortController();
      const leave = () => {
        if (signal.reason instanceof CallEnded) controller.abort(signal.reason);
        else end(controller, "its caller disconnected");
      };
      const leaving = onAbort(signal, leave);
      const group = calls.get(key) ?? new Set();
      calls.set(key, group.add(controller));
      const endsAt = endOf(principal);
      if (endsAt !== Infinity) {
        ends.set(controller, endsAt);
        timer ??= setInterval(endThoseOver, checkEveryMs);
      }
      let stopDeadline = () => {};
      return {
        signal: controller.signal,
        limit: (timeoutMs) => stopDeadline = startTimer(timeoutMs, () => end(controller, "it took too long")),
        finish() {
          stopDeadline();
          leaving[Symbol.dispose]();
          ends.delete(controller);
          group.delete(controller);
          if (group.size === 0) calls.delete(key);
        },
      };
    },
    /** Cancels the call of that id, which may run in another process. */
    cancel(principal: Principal, id: unknown): void {
      const key = keyOf(principal, id);
      if (!cancelHere(key)) others?.send(key, prefixOf(principal));
    },
    /** Ends every call of a principal, whose token or session has ended. */
    endPrincipal(principal: Principal): void {
      const prefix = prefixOf(principal);
      endAll("its token or session has ended", (key) => key.startsWith(prefix));
    },
    /** Ends every call: the server stops. */
    endAll: (): void => endAll("the server stops", () => true),
    [Symbol.dispose]() {
      stopTimer();
      others?.[Symbol.dispose]();
    },
  };
}
