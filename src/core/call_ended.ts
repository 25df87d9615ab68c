import { isTimeout } from "./async/deadline.ts";

/** Who or what ended a call before its answer, in words that go on from "because". */
export type EndOfCall =
  | "its caller went away"
  | "its caller cancelled it"
  | "its token or session has ended"
  | "it took too long"
  | "the server stops";

/** What a call's signal aborts with where it is known why. */
export class CallEnded extends Error {
  override readonly name = "AbortError";
  constructor(readonly why: EndOfCall, message: string = why) {
    super(message);
  }
}

/** Why a signal aborted: a connection that breaks gives a reason of the runtime's, and is a caller that has gone. */
export function whyEnded({ reason }: AbortSignal): EndOfCall {
  if (reason instanceof CallEnded) return reason.why;
  return isTimeout(reason) ? "it took too long" : "its caller went away";
}
