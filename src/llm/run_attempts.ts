import { asFailure } from "./attempt_failure.ts";
import { type Attempt, startAttempt } from "./http_attempt.ts";
import type { ExchangeRequest, HttpExchangeOptions } from "./http_exchange.ts";
import { retryDelay } from "./retry_delay.ts";
import { waitFor } from "./wait_for.ts";

const defaultMaxAttempts = 4;
const defaultLongestAskedDelayMs = 60_000;
/** With less time than this left, another attempt is hopeless. */
const shortestAttemptMs = 10;

/**
 * Runs an operation until it succeeds, cannot be helped, or has had its attempts or its time.
 * @param accept the media type that is wanted
 * @throws {ProviderError} or the signal's reason
 */
export async function runAttempts<T>(
  options: HttpExchangeOptions,
  request: ExchangeRequest,
  accept: string,
  operation: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  const { maxAttempts = defaultMaxAttempts, random = Math.random, sleep = waitFor } = options;
  const { longestAskedDelayMs = defaultLongestAskedDelayMs } = options;
  const { requestTimeoutMs, perAttemptTimeoutMs } = options;
  const timeoutMs = Math.min(requestTimeoutMs || Infinity, request.timeoutMs ?? Infinity);
  const deadline = performance.now() + timeoutMs;
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);

  for (let number = 1;; number++) {
    request.signal.throwIfAborted();
    const limitMs = Math.min(perAttemptTimeoutMs || Infinity, deadline - performance.now());
    const attempt = startAttempt(options, { request, accept, body }, number, limitMs);
    try {
      return await operation(attempt);
    } catch (thrown) {
      const failure = asFailure(thrown, "internal");
      const { isPassing = false, askedDelayMs = 0 } = failure.facts;
      const delayMs = retryDelay(number, askedDelayMs, random);
      const isInTime = askedDelayMs <= longestAskedDelayMs &&
        performance.now() + delayMs + shortestAttemptMs < deadline;
      const isFinal = !isPassing || number >= maxAttempts || !isInTime;
      const fault = attempt.fail(failure, isFinal);
      if (isFinal || request.signal.aborted) throw fault;
      await sleep(delayMs, request.signal);
    }
  }
}
