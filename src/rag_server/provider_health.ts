import { isTimeout, withDeadline } from "../core/async/deadline.ts";
import { ProviderError } from "../llm/provider_error.ts";
import type { Reachability } from "./pipelines.ts";

/** Something that can be asked whether it is there. */
export interface Pingable {
  ping(signal: AbortSignal): Promise<void>;
}

const longestPingMs = 5_000;

/** Pings a provider for at most five seconds. A failure is told as one of the fixed phrases. */
export async function reachabilityOf(provider: Pingable): Promise<Reachability> {
  try {
    await withDeadline(longestPingMs, undefined, (signal) => provider.ping(signal));
    return { reachable: true };
  } catch (error) {
    return { reachable: false, error: phraseOf(error) };
  }
}

function phraseOf(error: unknown): string {
  if (error instanceof ProviderError) return error.message;
  return new ProviderError(isTimeout(error) ? "timeout" : "internal", "").message;
}
