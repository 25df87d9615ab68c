import { isTimeout } from "./deadline.ts";

/** Settles as the promise does, or rejects with the signal's reason as soon as that aborts: some work does not look at its signal. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Calls `listener` when the signal aborts, at once where it has, until this is disposed of. */
export function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}

/** Who or what ended a call before its answer, in words that go on from "because". */
export type EndOfCall =
  | "its caller disconnected"
  | "its caller cancelled it"
  | "its token or session has ended"
  | "it took too long"
  | "the server stops";

/** What a call's signal aborts with where it is known why. */
export class CallEnded extends Error {
  override readonly name: "AbortError" | "TimeoutError";
  constructor(readonly why: EndOfCall) {
    super(why);
    this.name = why === "it took too long" ? "TimeoutError" : "AbortError";
  }
}

/** Why a signal aborted. A connection that breaks gives a reason of the runtime's: its caller disconnected. */
export function whyEnded({ reason }: Pick<AbortSignal, "reason">): EndOfCall {
  if (reason instanceof CallEnded) return reason.why;
  return isTimeout(reason) ? "it took too long" : "its caller disconnected";
}
