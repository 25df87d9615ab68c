import { type Completion, type CompletionPart, noUsage, type Usage } from "./provider.ts";
import { declined, ProviderError } from "./provider_error.ts";

/** What a vendor's reply, or one item of its stream, says. */
export interface CompletionDelta {
  readonly text?: string;
  /** Counts so far; they replace earlier ones. */
  readonly usage?: Partial<Usage>;
  readonly isCut?: boolean;
  /** Why there is no answer, where the model refused it or a filter took it away. */
  readonly declined?: string | undefined;
  /** Of a stream: the vendor's own mark that the answer is complete. */
  readonly isEnd?: boolean;
}

/** Told what a request used, however it ended: an answer that is none costs all the same. */
export type OnUsage = (usage: Usage) => void;

/**
 * A whole answer. One that was cut may have no text: a model that thinks can use up the longest one allowed before it.
 * @throws {ProviderError} where it was declined; `provider` where there is no text and it was not cut: nobody asked for
 * nothing
 */
export function readCompletion(reply: CompletionDelta, onUsage: OnUsage | undefined): Completion {
  const { text = "", isCut = false } = reply;
  const usage = { ...noUsage, ...reply.usage };
  onUsage?.(usage);
  if (reply.declined !== undefined) throw declined(reply.declined);
  if (text === "" && !isCut) throw emptyAnswer("it holds no text");
  return { text, usage, isCut };
}

/**
 * An answer as it comes.
 * @param onUsage told once, with the last counts, also where the stream breaks or its reader leaves
 * @throws {ProviderError} where it was declined; `provider` where the deltas end before the vendor's end mark, or without
 * any text though nothing was cut
 */
export async function* readCompletionStream(
  deltas: AsyncIterable<CompletionDelta>,
  onUsage: OnUsage | undefined,
): AsyncGenerator<CompletionPart, void, undefined> {
  let usage = noUsage;
  let isCut = false;
  let hasText = false;
  try {
    for await (const delta of deltas) {
      usage = { ...usage, ...delta.usage };
      if (delta.declined !== undefined) throw declined(delta.declined);
      if (delta.text) {
        hasText = true;
        yield { type: "text", text: delta.text };
      }
      isCut ||= delta.isCut ?? false;
      if (!delta.isEnd) continue;
      if (!hasText && !isCut) throw emptyAnswer("it holds no text");
      yield { type: "end", usage, isCut };
      return;
    }
    throw new ProviderError("provider", "the stream ended before the answer did");
  } finally {
    onUsage?.(usage);
  }
}

/** The error for an answer without a text. */
export function emptyAnswer(reason: string): ProviderError {
  return new ProviderError("provider", `the answer is empty: ${reason}`, { noAnswer: "empty" });
}
