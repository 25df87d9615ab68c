import { type Completion, type CompletionPart, noUsage, type Usage } from "./provider.ts";
import { ProviderError } from "./provider_error.ts";

/**
 * A whole answer.
 * @throws {ProviderError} `provider` where there is no text: nobody asked for nothing
 */
export function readCompletion(text: string, usage: Partial<Usage>, isCut: boolean): Completion {
  demandText(text !== "", isCut);
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
 * @throws {ProviderError} `provider` where the deltas end before the vendor's end mark, or without any text
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
    demandText(hasText, isCut);
    yield { type: "end", usage, isCut };
    return;
  }
  throw new ProviderError("provider", "the stream ended before the answer did");
}

function demandText(hasText: boolean, isCut: boolean): void {
  if (hasText) return;
  const reason = isCut ? "the longest answer allowed was used up before any text" : "it holds no text";
  throw new ProviderError("provider", `the answer is empty: ${reason}`);
}
