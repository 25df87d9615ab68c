import { ProviderError } from "../llm/provider_error.ts";

/** The end of the time in which a question is to be answered. */
export interface Deadline extends Disposable {
  /** Aborts with the one given, or with a ProviderError `timeout` when the time is over. */
  within(signal: AbortSignal): AbortSignal;
}

/** @param timeoutMs from now; 0: no limit */
export function startDeadline(timeoutMs: number): Deadline {
  const over = new AbortController();
  const end = () => over.abort(new ProviderError("timeout", `no statement that runs within ${timeoutMs} ms`));
  const timer = timeoutMs === 0 ? undefined : setTimeout(end, timeoutMs);
  return {
    within: (signal) => AbortSignal.any([signal, over.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
