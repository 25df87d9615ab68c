import { type Completion, type CompletionPart, noUsage, type Usage } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

/**
 * A whole answer. One that was cut may have no text: a model that thinks can use up the longest one allowed before it.
 * @throws {ProviderError} `provider` where there is no text and it was not cut: nobody asked for nothing
 */
export function readCompletion(text: string, usage: Partial<Usage>, isCut: boolean): Completion {
  if (text === "" && !isCut) throw emptyAnswer("it holds no text");
  return { text, usage: { ...noUsage, ...usage }, isCut };
}

/** What one item of a vendor's stream adds to the answer. */
export interface StreamDelta {
  readonly text?: string;
  /** Counts so far; they replace earlier ones. */
  readonly usage?: Partial<Usage>;
  readonly isCut?: boolean;
  /** The vendor's own mark that the answer is complete. */
  readonly isEnd?: boolean;
}

/**
 * An answer as it comes.
 * @throws {ProviderError} `provider` where the deltas end before the vendor's end mark, or without any text though
 * nothing was cut
 */
export async function* readCompletionStream(
  deltas: AsyncIterable<StreamDelta>,
): AsyncGenerator<CompletionPart, void, undefined> {
  let usage = noUsage;
  let isCut = false;
  let hasText = false;
  for await (const delta of deltas) {
    if (delta.text) {
      hasText = true;
      yield { type: "text", text: delta.text };
    }
    usage = { ...usage, ...delta.usage };
    isCut ||= delta.isCut ?? false;
    if (!delta.isEnd) continue;
    if (!hasText && !isCut) throw emptyAnswer("it holds no text");
    yield { type: "end", usage, isCut };
    return;
  }
  throw new ProviderError("provider", "the stream ended before the answer did");
}

/** The error for an answer without a text. */
export function emptyAnswer(reason: string): ProviderError {
  return new ProviderError("provider", `the answer is empty: ${reason}`, { noAnswer: "empty" });
}
