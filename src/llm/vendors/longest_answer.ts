import type { ProviderKind } from "../provider_kinds.ts";

// thoughts count towards the longest answer
const ofModelsThatThink = 16_000;
const ofOthers = 4096;

/** Models that refuse to be asked for longer answers, by a part of their names. */
const limits: readonly (readonly [RegExp, number])[] = [
  [/claude-3-(?:opus|sonnet|haiku)/i, 4096],
  [/claude-3-5-/i, 8192],
  [/gpt-(?:3\.5|35|4-)/i, 4096],
  [/gpt-4o/i, 16_384],
  [/gemini-(?:1|2\.0)/i, 8192],
];

/** OpenAI's models that think: o1 and later, GPT-5 and later, whatever stands before the name, as in `openai/gpt-5-mini`. */
const openaiThinker = /(?:^|[/.:])(?:o[1-9]|gpt-(?:[5-9]|[12]\d))(?![a-z0-9])/i;

/** Whether this is a model of OpenAI's that thinks before it answers. */
export function isOpenaiThinker(model: string): boolean {
  return openaiThinker.test(model);
}

/**
 * The longest answer to ask a model for, in tokens: the one that is wanted, or enough for such a model, and never more
 * than it is known to accept.
 * Source: the vendors' model pages, "Max output".
 */
export function longestAnswer(kind: ProviderKind, model: string, wanted?: number): number {
  const [, limit = Infinity] = limits.find(([name]) => name.test(model)) ?? [];
  const thinks = kind === "anthropic" || kind === "gemini" || isOpenaiThinker(model);
  return Math.min(wanted ?? (thinks ? ofModelsThatThink : ofOthers), limit);
}
