import type { Logger } from "../core/logger.ts";
import type { CompletionPart, CompletionProvider, CompletionRequest } from "./provider.ts";
import type { ProviderError } from "./provider_error.ts";
import { emptyAnswer } from "./read_completion.ts";

/** A provider whose cut answers have a text, for callers that have no use for one that was all thinking. */
export function requireText(provider: CompletionProvider, logger: Logger): CompletionProvider {
  function refuse(): ProviderError {
    const error = emptyAnswer("the longest one allowed was used up before any text; raise max_tokens");
    logger.warn("a model gave no answer", { provider: provider.name, detail: error.detail });
    return error;
  }

  async function* stream(request: CompletionRequest): AsyncGenerator<CompletionPart, void, void> {
    let hasText = false;
    for await (const part of provider.stream(request)) {
      if (part.type === "end" && part.isCut && !hasText) throw refuse();
      hasText ||= part.type === "text" && part.text !== "";
      yield part;
    }
  }

  return {
    name: provider.name,
    ping: (signal) => provider.ping(signal),
    async complete(request) {
      const completion = await provider.complete(request);
      if (completion.text === "" && completion.isCut) throw refuse();
      return completion;
    },
    stream,
  };
}
