import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Completion, CompletionPart, CompletionProvider, CompletionRequest } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

// Every fault leads to the next provider, `invalid_request` too: what one refuses as too long, or by a model's name
// that it does not know, another may take, and a request that all refuse costs one refusal more for each. An answer that
// is none leads nowhere: a request that one model declines is not to be passed round until another takes it.

/** With a share below this, in milliseconds, the next provider would fail at the time alone. */
const shortestShareMs = 100;

export interface FallbackLimits {
  /** For all providers together, in milliseconds; 0 or absent: as long as each one's own limits allow. */
  readonly timeoutMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Several providers as one: the first that does not fail answers. A stream goes to the next only before its first text.
 * `ping` succeeds where any of them answers, since then a request would. What all of them fail at is the first one's
 * fault: the one that is meant to answer. Each takes at most its share of the time that is left, so that the last one
 * still has some when those before it hang; where hardly any is left, no other is asked. There is no such thing for
 * embeddings: the vectors of two models do not mix.
 * @param providers in order of preference, one or more
 */
export function withFallback(
  providers: readonly CompletionProvider[],
  logger: Logger,
  limits: FallbackLimits = {},
): CompletionProvider {
  const first = firstOf(providers);
  return {
    name: first.name,
    ping: (signal) => pingAny(providers, signal),
    complete: (request) => completeFromEach(turnsOf(providers, request, limits), logger),
    stream: (request) => streamFromEach(turnsOf(providers, request, limits), logger),
  };
}

function firstOf(providers: readonly CompletionProvider[]): CompletionProvider {
  const [first] = providers;
  if (first === undefined) throw new AppError("internal", "Cannot fall back: there are no providers");
  return first;
}

interface Turn {
  readonly provider: CompletionProvider;
  /** The one that was asked before. */
  readonly previous: CompletionProvider | undefined;
  readonly request: CompletionRequest;
}

/** The providers in order, each with the request as it is to get it at that moment; none more where the time is up. */
function* turnsOf(
  providers: readonly CompletionProvider[],
  request: CompletionRequest,
  { timeoutMs = 0, now = () => performance.now() }: FallbackLimits,
): Generator<Turn, void, void> {
  const deadline = now() + (timeoutMs || Infinity);
  for (const [index, provider] of providers.entries()) {
    const shareMs = (deadline - now()) / (providers.length - index);
    if (index > 0 && shareMs < shortestShareMs) return;
    yield {
      provider,
      previous: providers[index - 1],
      request: Number.isFinite(shareMs) ? { ...request, timeoutMs: shareMs } : request,
    };
  }
}

async function completeFromEach(turns: Iterable<Turn>, logger: Logger): Promise<Completion> {
  const faults: ProviderError[] = [];
  for (const { provider, previous, request } of turns) {
    logFallback(logger, faults.at(-1), previous, provider);
    try {
      return await provider.complete(request);
    } catch (thrown) {
      faults.push(demandFault(thrown, request.signal));
    }
  }
  throw faults[0];
}

async function* streamFromEach(
  turns: Iterable<Turn>,
  logger: Logger,
): AsyncGenerator<CompletionPart, void, void> {
  const faults: ProviderError[] = [];
  for (const { provider, previous, request } of turns) {
    logFallback(logger, faults.at(-1), previous, provider);
    let hasText = false;
    try {
      for await (const part of provider.stream(request)) {
        hasText ||= part.type === "text" && part.text !== "";
        yield part;
      }
      return;
    } catch (thrown) {
      if (hasText) throw thrown;
      faults.push(demandFault(thrown, request.signal));
    }
  }
  throw faults[0];
}

/** Asks all at once, so that a first one that is silent does not use up the time that a ping may take. */
async function pingAny(providers: readonly CompletionProvider[], signal: AbortSignal): Promise<void> {
  const others = new AbortController();
  const eitherSignal = AbortSignal.any([signal, others.signal]);
  try {
    await Promise.any(providers.map((provider) => provider.ping(eitherSignal)));
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  } finally {
    others.abort();
  }
}

/** @throws what was thrown, where it is the caller's abort, no provider's fault or an answer that is none */
function demandFault(thrown: unknown, signal: AbortSignal): ProviderError {
  if (signal.aborted || !(thrown instanceof ProviderError) || thrown.noAnswer !== undefined) throw thrown;
  return thrown;
}

function logFallback(
  logger: Logger,
  failure: ProviderError | undefined,
  from: CompletionProvider | undefined,
  to: CompletionProvider,
): void {
  if (failure === undefined || from === undefined) return;
  const { fault } = failure;
  logger.warn("falling back to another provider", { provider: from.name, next: to.name, fault });
}
