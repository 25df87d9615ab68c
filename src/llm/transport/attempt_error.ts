import { type NoAnswer, ProviderError, type ProviderErrorKind } from "../provider_error.ts";

interface AttemptErrorFacts {
  /** The same request may fare better in a moment. */
  readonly isPassing?: boolean;
  readonly status?: number;
  /** The wait that the provider asked for, in milliseconds. */
  readonly askedDelayMs?: number | undefined;
  /** The vendor's own name for the request. */
  readonly requestId?: string | undefined;
  readonly noAnswer?: NoAnswer | undefined;
}

/** The error of one attempt. It does not leave the exchange, since its message still holds what the provider wrote. */
export class AttemptError extends Error {
  constructor(readonly kind: ProviderErrorKind, message: string, readonly facts: AttemptErrorFacts = {}) {
    super(message);
  }
}

/** Gives what was thrown a kind, where it has none yet. */
export function asAttemptError(
  thrown: unknown,
  kind: ProviderErrorKind,
  facts: AttemptErrorFacts = {},
): AttemptError {
  if (thrown instanceof AttemptError) return thrown;
  if (thrown instanceof ProviderError) {
    return new AttemptError(thrown.kind, thrown.detail, { noAnswer: thrown.noAnswer });
  }
  return new AttemptError(kind, messageOf(thrown), facts);
}

/** For names that do not resolve, refused and broken connections, and failed TLS. */
export function asBrokenConnection(thrown: unknown): AttemptError {
  return asAttemptError(thrown, "unreachable", { isPassing: true });
}

function messageOf(thrown: unknown): string {
  const texts: string[] = [];
  for (let error = thrown; error instanceof Error && texts.length < 4; error = error.cause) {
    texts.push(error.message);
  }
  return texts.join(": ") || String(thrown);
}
