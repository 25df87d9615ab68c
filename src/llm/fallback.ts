import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Completion, CompletionPart, CompletionProvider, CompletionRequest } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

// Every error leads to the next provider, `invalid_request` too: one may refuse a request as too long, or not know
// the model's name, and another may take it. A request that all refuse costs no more than those refusals. A reply
// without an answer does not lead to the next: a request that one model declines is not passed round until another
// takes it.

/** With less time than this, in milliseconds, the next provider could not answer anyway. */
const shortestShareMs = 100;
/** If another provider can be asked, a busy one may ask for no longer wait than this, in milliseconds. */
export const longestDelayBeforeFallbackMs = 1_000;

interface FallbackLimits {
  /** For all providers together, in milliseconds; 0 or absent: as long as each one's own limits allow. */
  readonly timeoutMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Several providers as one: the first that does not fail answers. A stream goes to the next provider only before its
 * first text. `ping` succeeds if any of them answers, since then a request would. If all fail, the first one's error is
 * thrown, since that one is meant to answer. Each gets at most its share of the time that is left, so that the last one
 * still has some when those before it hang; if hardly any is left, no other is asked. Embeddings have no fallback: the
 * vectors of two models do not mix.
 * @param providers in order of preference, one or more
 */
export function withFallback(
  providers: readonly CompletionProvider[],
  logger: Logger,
  { timeoutMs = 0, now = () => performance.now() }: FallbackLimits = {},
): CompletionProvider {
  const [first] = providers;
  if (first === undefined) throw new AppError("internal", "Cannot fall back: there are no providers");

  /**
   * The providers in order, each with the request and its share of the time at that moment, until the time is up.
   * @param errors of those that were asked before
   */
  function* inOrder(request: CompletionRequest, errors: readonly ProviderError[]) {
    const deadline = now() + (timeoutMs || Infinity);
    for (const [index, provider] of providers.entries()) {
      const shareMs = (deadline - now()) / (providers.length - index);
      if (index > 0) {
        if (shareMs < shortestShareMs) return;
        const [from, fault] = [providers[index - 1]?.name, errors.at(-1)?.kind];
        logger.warn("falling back to another provider", { provider: from, next: provider.name, fault });
      }
      yield { provider, asked: Number.isFinite(shareMs) ? { ...request, timeoutMs: shareMs } : request };
    }
  }

  async function complete(request: CompletionRequest): Promise<Completion> {
    const errors: ProviderError[] = [];
    for (const { provider, asked } of inOrder(request, errors)) {
      try {
        return await provider.complete(asked);
      } catch (thrown) {
        errors.push(errorToFallBackOn(thrown, request.signal));
      }
    }
    throw errors[0];
  }

  async function* stream(request: CompletionRequest): AsyncGenerator<CompletionPart, void, void> {
    const errors: ProviderError[] = [];
    for (const { provider, asked } of inOrder(request, errors)) {
      let hasText = false;
      try {
        for await (const part of provider.stream(asked)) {
          hasText ||= part.type === "text" && part.text !== "";
          yield part;
        }
        return;
      } catch (thrown) {
        if (hasText) throw thrown;
        errors.push(errorToFallBackOn(thrown, request.signal));
      }
    }
    throw errors[0];
  }

  return { name: first.name, ping: (signal) => pingAny(providers, signal), complete, stream };
}

/** @throws what was thrown, if the caller aborted, no provider threw it, or it is a reply without an answer */
function errorToFallBackOn(thrown: unknown, signal: AbortSignal): ProviderError {
  if (signal.aborted || !(thrown instanceof ProviderError) || thrown.noAnswer !== undefined) throw thrown;
  return thrown;
}

/** Asks all at once, so that a silent first one does not use up the ping's time. */
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
