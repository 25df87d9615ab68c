import type { Message } from "../llm/provider.ts";
import { cutToTokens } from "../text/cut_to_tokens.ts";
import { isFunctionWord, words } from "../text/words.ts";

/** A question with fewer meaningful words refers to earlier messages. */
const leastOwnWords = 4;
/** In tokens: enough to say what a question was about. */
const longestPrevious = 100;
/** In tokens: every model of embeddings takes as many, and what comes later says little that is new. */
const longestSearch = 2_000;

/**
 * What to search for: the question, and where it says little by itself, as "and for contractors?" does, the question
 * before it as well. No model is asked: that would cost as much as the answer.
 */
export function searchText(question: string, history: readonly Message[]): string {
  const own = words(question).filter((word) => !isFunctionWord(word));
  const previous = history.findLast(({ role }) => role === "user")?.content;
  const text = previous === undefined || own.length >= leastOwnWords
    ? question
    : `${cutToTokens(previous, longestPrevious)}\n${question}`;
  return cutToTokens(text, longestSearch);
}
