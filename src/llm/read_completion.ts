import type { Logger } from "../core/logger.ts";
import {
  type Completion,
  type CompletionPart,
  type CompletionProvider,
  type CompletionRequest,
  noUsage,
  providerName,
  type ProviderOptions,
  type Usage,
} from "./provider.ts";
import { declined, emptyAnswer, ProviderError } from "./provider_error.ts";
import type { VendorExchange } from "./transport/exchange.ts";
import { maxCompletionBytes, type StreamItem } from "./transport/read_reply.ts";
import { tellThoughLeft, type TellUsage, usageTeller } from "./usage.ts";
import type { ProviderKind } from "./provider_kinds.ts";

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

/** What one request for a completion takes. */
interface CompletionCall {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The format of a stream. */
  readonly format: "events" | "lines";
  readonly readReply: (json: unknown) => CompletionDelta;
  /** Of a stream: reads one item. */
  readonly readItem: (item: StreamItem) => CompletionDelta;
}

/** The part of a request that goes into its body. */
export type Prompt = Pick<CompletionRequest, "system" | "messages">;

/**
 * Completions as a vendor writes them.
 * @param call asked once for each request
 */
export function vendorCompletion(
  options: ProviderOptions,
  exchange: VendorExchange,
  ping: { readonly path: string; readonly headers?: Readonly<Record<string, string>> },
  call: (prompt: Prompt, isStream: boolean) => CompletionCall,
): CompletionProvider {
  return {
    name: providerName(options),
    ping: (signal) => exchange.get({ ...ping, signal }),
    complete({ signal, timeoutMs, span, onUsage, ...prompt }) {
      const { readReply, ...request } = call(prompt, false);
      return tellThoughLeft(usageTeller(options.onUsage, onUsage, () => textsOf(prompt)), signal, (tell) => {
        const read = (json: unknown) => readCompletion(readReply(json), tell);
        return exchange.send({ ...request, signal, timeoutMs, span, maxBytes: maxCompletionBytes, read });
      });
    },
    stream({ signal, timeoutMs, span, onUsage, ...prompt }) {
      const { readItem: read, ...request } = call(prompt, true);
      const tell = usageTeller(options.onUsage, onUsage, () => textsOf(prompt));
      return readCompletionStream(
        exchange.stream({ ...request, signal, timeoutMs, span, read }),
        signal,
        tell,
      );
    },
  };
}

const textsOf = ({ system = "", messages }: Prompt) => [system, ...messages.map(({ content }) => content)];

/**
 * A whole answer. One that was cut may have no text: a model that thinks can use up its tokens before the first word.
 * @throws {ProviderError} if it was declined; `provider` if there is no text though it was not cut
 */
function readCompletion(reply: CompletionDelta, tell: TellUsage): Completion {
  const { text = "", isCut = false } = reply;
  const usage = { ...noUsage, ...reply.usage };
  tell(usage, { text, isWhole: true });
  if (reply.declined !== undefined) throw declined(reply.declined);
  if (text === "" && !isCut) throw emptyAnswer("it holds no text");
  return { text, usage, isCut };
}

/**
 * An answer as it comes.
 * @param tell told once, with the last counts, also where the stream breaks or its reader leaves, but not where the
 * provider failed before it began
 * @throws {ProviderError} where it was declined; `provider` where the deltas end before the vendor's end mark, or without
 * any text though nothing was cut
 */
async function* readCompletionStream(
  deltas: AsyncIterable<CompletionDelta>,
  signal: AbortSignal,
  tell: TellUsage,
): AsyncGenerator<CompletionPart, void, undefined> {
  signal.throwIfAborted();
  let usage = noUsage;
  let isCut = false;
  let text = "";
  let hasBegun = false;
  let isWhole = false;
  try {
    for await (const delta of deltas) {
      hasBegun = true;
      usage = { ...usage, ...delta.usage };
      if (delta.declined !== undefined) throw declined(delta.declined);
      if (delta.text) {
        text += delta.text;
        yield { type: "text", text: delta.text };
      }
      isCut ||= delta.isCut ?? false;
      if (!delta.isEnd) continue;
      isWhole = true;
      if (text === "" && !isCut) throw emptyAnswer("it holds no text");
      yield { type: "end", usage, isCut };
      return;
    }
    throw new ProviderError("provider", "the stream ended before the answer did");
  } finally {
    if (hasBegun || signal.aborted) tell(usage, { text, isWhole });
  }
}

/** A provider that throws where a cut answer has no text, for callers that cannot use one that was all thinking. */
export function requireText(provider: CompletionProvider, logger: Logger): CompletionProvider {
  function refuse(): ProviderError {
    const error = emptyAnswer("the model used all of max_tokens before any text; raise max_tokens");
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
    ...provider,
    async complete(request) {
      const completion = await provider.complete(request);
      if (completion.text === "" && completion.isCut) throw refuse();
      return completion;
    },
    stream,
  };
}

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
