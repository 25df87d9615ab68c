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
    await provider.ping(AbortSignal.timeout(longestPingMs));
    return { reachable: true };
  } catch (error) {
    return { reachable: false, error: phraseOf(error) };
  }
}

function phraseOf(error: unknown): string {
  if (error instanceof ProviderError) return error.message;
  const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
  return new ProviderError(isTimeout ? "timeout" : "internal", "").message;
}
