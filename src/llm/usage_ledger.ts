import { noUsage, type Usage } from "./provider.ts";

export interface UsageTotals extends Usage {
  /** Of prompts and completions. */
  readonly totalTokens: number;
}

/** Tokens of one client's requests; they only grow. */
export interface UsageCounter {
  add(usage: Usage): void;
  read(): UsageTotals;
}

/** Counters that outlive the clients whose use they count. */
export interface UsageLedger {
  /** The counter of this key, which begins at 0. Keys are of configured clients, so none is ever forgotten. */
  counter(key: string): UsageCounter;
}

export function createUsageLedger(): UsageLedger {
  const counters = new Map<string, UsageCounter>();
  return {
    counter(key) {
      const counter = counters.get(key) ?? createUsageCounter();
      counters.set(key, counter);
      return counter;
    },
  };
}

function createUsageCounter(): UsageCounter {
  let sum = noUsage;
  return {
    add(usage) {
      sum = {
        promptTokens: grow(sum.promptTokens, usage.promptTokens),
        completionTokens: grow(sum.completionTokens, usage.completionTokens),
        cacheCreationInputTokens: grow(sum.cacheCreationInputTokens, usage.cacheCreationInputTokens),
        cacheReadInputTokens: grow(sum.cacheReadInputTokens, usage.cacheReadInputTokens),
      };
    },
    read: () => ({ ...sum, totalTokens: grow(sum.promptTokens, sum.completionTokens) }),
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
