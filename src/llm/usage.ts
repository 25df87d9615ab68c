import { noUsage, type OnUsage, type Usage } from "./provider.ts";
import { countTokens } from "../text/token_count.ts";

export interface UsageTotals extends Usage {
  /** Of prompts and completions. */
  readonly totalTokens: number;
}

/** Tokens of one client's requests; they only grow. */
export type UsageCounter = ReturnType<typeof createUsageCounter>;

/** Counters that outlive the clients whose use they count. */
export type UsageLedger = ReturnType<typeof createUsageLedger>;

export function createUsageLedger() {
  const counters = new Map<string, UsageCounter>();
  return {
    /** The counter of this key, which begins at 0. Keys are of configured clients, so none is ever forgotten. */
    counter(key: string): UsageCounter {
      const counter = counters.get(key) ?? createUsageCounter();
      counters.set(key, counter);
      return counter;
    },
  };
}

function createUsageCounter() {
  let sum = noUsage;
  return {
    add(usage: Usage): void {
      sum = {
        promptTokens: grow(sum.promptTokens, usage.promptTokens),
        completionTokens: grow(sum.completionTokens, usage.completionTokens),
        cacheCreationInputTokens: grow(sum.cacheCreationInputTokens, usage.cacheCreationInputTokens),
        cacheReadInputTokens: grow(sum.cacheReadInputTokens, usage.cacheReadInputTokens),
      };
    },
    read: (): UsageTotals => ({ ...sum, totalTokens: grow(sum.promptTokens, sum.completionTokens) }),
  };
}

function grow(sum: number, tokens: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, sum + countedTokens(tokens));
}

/** Prompt and completion together. */
export function tokensOf({ promptTokens, completionTokens }: Usage): number {
  return countedTokens(promptTokens) + countedTokens(completionTokens);
}

/** A provider may report a negative number, a fraction or none: that must not spoil what was counted before. */
export function countedTokens(tokens: number): number {
  return Number.isFinite(tokens) ? Math.max(0, Math.trunc(tokens)) : 0;
}

/** The answer that a request brought, as far as it came. */
interface AnswerSoFar {
  readonly text: string;
  readonly isWhole: boolean;
}

/** Tells what a request used by the provider's own counts, 0 where it gave none. */
export type TellUsage = (usage: Usage, answer?: AnswerSoFar) => void;

/**
 * Who is told what a request used. The provider's listener is told the provider's own counts, as its bill will have them.
 * The caller's, which quotas count by, is told an estimate where the provider gave none: some never count, most count at
 * the end of an answer, and a caller who leaves before that has cost what it has cost.
 *
 * @param prompt the texts that were sent; asked only for an estimate
 */
export function usageTeller(
  ofProvider: OnUsage | undefined,
  ofCaller: OnUsage | undefined,
  prompt: () => readonly string[],
): TellUsage {
  return (usage, { text, isWhole } = { text: "", isWhole: true }) => {
    ofProvider?.(usage);
    if (ofCaller === undefined) return;
    const { promptTokens, completionTokens } = usage;
    const isCounted = isWhole && completionTokens > 0;
    ofCaller({
      ...usage,
      promptTokens: promptTokens > 0
        ? promptTokens
        : prompt().reduce((sum, part) => sum + countTokens(part), 0),
      completionTokens: isCounted ? completionTokens : Math.max(completionTokens, countTokens(text)),
    });
  };
}

/**
 * Sends a request whose reply comes in one piece, and tells what it used, also where its caller leaves before the reply.
 *
 * @param send is given what to tell of each reply
 * @throws what `send` throws; the signal's reason where nothing was sent
 */
export async function tellThoughLeft<T>(
  tell: TellUsage,
  signal: AbortSignal,
  send: (tell: TellUsage) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  let isTold = false;
  try {
    return await send((usage, answer) => {
      isTold = true;
      tell(usage, answer);
    });
  } catch (thrown) {
    if (signal.aborted && !isTold) tell(noUsage);
    throw thrown;
  }
}
