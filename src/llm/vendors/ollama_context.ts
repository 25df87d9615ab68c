import type { Logger } from "../../core/logger.ts";
import { countTokens } from "../../text/token_count.ts";
import type { CompletionRequest } from "../provider.ts";

export interface OllamaContextOptions {
  /** Tokens; without it as many as the prompts need. */
  readonly contextTokens?: number | undefined;
  /** The longest answer, which has its place in the window too. */
  readonly maxTokens?: number | undefined;
  /** For logs. */
  readonly provider: string;
  readonly logger: Logger;
}

/** The context window for one prompt. */
export interface OllamaWindow {
  /** Tokens, for `num_ctx`. */
  readonly size: number;
  /**
   * Warns where Ollama read far less of the prompt than was sent.
   * @param readTokens as Ollama counted them; 0 or undefined where it did not
   */
  check(readTokens: number | undefined): void;
}

const stepTokens = 8192;
/** The largest window that is kept for later requests; each takes memory for as long as the model is loaded. */
const largestKeptTokens = 32_768;
/** The largest that is asked for: what most models were made for at most. */
const largestTokens = 131_072;
const defaultAnswerTokens = 4096;
/** What the model's template puts around a message. */
const tokensPerMessage = 16;
/** Small models' tokenizers make more of a text than the one that `countTokens` is near to. */
const margin = 1.3;

/**
 * The context windows that Ollama is asked for. Its own is small, and of a longer prompt it drops the beginning in silence.
 * They grow by steps and do not shrink, since Ollama loads the model again for each size; a prompt that is much longer than
 * others gets a window of its own.
 * Source: Ollama documentation, "Context length", and API, "Generate a chat message".
 */
export function createOllamaContext(
  { contextTokens, maxTokens = defaultAnswerTokens, provider, logger }: OllamaContextOptions,
): (prompt: Pick<CompletionRequest, "system" | "messages">) => OllamaWindow {
  const largestKept = Math.max(largestKeptTokens, 2 * maxTokens);
  let kept = 0;
  return ({ system = "", messages }) => {
    const texts = [system, ...messages.map(({ content }) => content)];
    const promptTokens = texts.reduce((sum, text) => sum + countTokens(text) + tokensPerMessage, 0);
    const needed = Math.ceil((promptTokens * margin + maxTokens) / stepTokens) * stepTokens;
    if (needed <= largestKept) kept = Math.max(kept, needed);
    return {
      size: contextTokens ?? Math.min(Math.max(kept, needed), largestTokens),
      check(readTokens) {
        if (!readTokens || readTokens * 2 >= promptTokens) return;
        const advice = "set context_tokens, choose a model with a longer context, or lower the token budget";
        logger.warn("Ollama read only a part of the prompt", { provider, readTokens, promptTokens, advice });
      },
    };
  };
}
