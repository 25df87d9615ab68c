import { countTokens } from "../../text/token_count.ts";
import type { CompletionProvider, CompletionRequest, Usage } from "../provider.ts";
import { noUsage } from "../provider.ts";
import type { OnUsage } from "../read_completion.ts";
import { extractAnswer } from "./extract_answer.ts";
import { createSlices } from "../../core/async/yield.ts";

const notAnswered = "The documents do not answer this.";
const notAModel =
  "This is the local provider, which is no language model and can only quote documents; configure a provider of kind " +
  "openai, anthropic, gemini or ollama for free answers.";

/**
 * Completion without a model, for demonstrations and tests: it quotes the sentences of `grounding` that fit the question
 * best, or says that none does. Without `grounding` it says what it is. It reads no instructions, neither in messages nor
 * in documents. The usage is `countTokens`'s estimate.
 */
export function localCompletion(onUsage?: OnUsage): CompletionProvider {
  async function answered(request: CompletionRequest): Promise<{ text: string; usage: Usage }> {
    const text = await answer(request);
    const usage = usageOf(request, text);
    onUsage?.(usage);
    return { text, usage };
  }

  return {
    name: "local/extractive",
    ping: (signal) => Promise.resolve(signal).then((given) => given.throwIfAborted()),
    async complete(request) {
      const { text, usage } = await answered(request);
      return { text, usage, isCut: false };
    },
    async *stream(request) {
      const { text, usage } = await answered(request);
      for (const [piece] of text.matchAll(/\S+\s*/g)) {
        request.signal.throwIfAborted();
        yield { type: "text", text: piece };
      }
      request.signal.throwIfAborted();
      yield { type: "end", usage, isCut: false };
    },
  };
}

async function answer({ grounding, signal }: CompletionRequest): Promise<string> {
  signal.throwIfAborted();
  if (grounding === undefined) return notAModel;
  return await extractAnswer(grounding, createSlices(signal)) ?? notAnswered;
}

/** Grounding is part of the messages already. */
function usageOf({ system = "", messages }: CompletionRequest, text: string): Usage {
  const promptTokens = messages.reduce((sum, { content }) => sum + countTokens(content), countTokens(system));
  return { ...noUsage, promptTokens, completionTokens: countTokens(text) };
}
