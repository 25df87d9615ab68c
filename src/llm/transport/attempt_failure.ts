import { type NoAnswer, ProviderError, type ProviderFault } from "../provider_error.ts";

export interface AttemptFailureFacts {
  /** The same request may fare better in a moment. */
  readonly isPassing?: boolean;
  readonly status?: number;
  /** The wait that the provider asked for, in milliseconds. */
  readonly askedDelayMs?: number | undefined;
  /** The vendor's own name for the request. */
  readonly requestId?: string | undefined;
  readonly noAnswer?: NoAnswer | undefined;
}

/** One attempt's failure, inside the exchange alone: its message still holds what the provider wrote. */
export class AttemptFailure extends Error {
  constructor(readonly fault: ProviderFault, message: string, readonly facts: AttemptFailureFacts = {}) {
    super(message);
  }
}

/** Gives what was thrown a fault, where it has none yet. */
export function asFailure(
  thrown: unknown,
  fault: ProviderFault,
  facts: AttemptFailureFacts = {},
): AttemptFailure {
  if (thrown instanceof AttemptFailure) return thrown;
  if (thrown instanceof ProviderError) {
    return new AttemptFailure(thrown.fault, thrown.detail, { noAnswer: thrown.noAnswer });
  }
  return new AttemptFailure(fault, messageOf(thrown), facts);
}

/** For names that do not resolve, refused and broken connections, and failed TLS. */
export function asBrokenConnection(thrown: unknown): AttemptFailure {
  return asFailure(thrown, "unreachable", { isPassing: true });
}

function messageOf(thrown: unknown): string {
  const texts: string[] = [];
  for (let error = thrown; error instanceof Error && texts.length < 4; error = error.cause) {
    texts.push(error.message);
  }
  return texts.join(": ") || String(thrown);
}
