/** Who or what ended a call before its answer, in words that go on from "because". */
export type EndOfCall =
  | "its caller went away"
  | "its caller cancelled it"
  | "its token or session has ended"
  | "the server stops";

/** What a call's signal aborts with where it is known why. */
export class CallEnded extends Error {
  override readonly name = "AbortError";
  constructor(readonly why: EndOfCall) {
    super(`the call was cancelled because ${why}`);
  }
}

/** Why a signal aborted: a connection that breaks gives a reason of the runtime's, and is a caller that has gone. */
export function whyEnded(signal: AbortSignal): EndOfCall {
  return signal.reason instanceof CallEnded ? signal.reason.why : "its caller went away";
}
