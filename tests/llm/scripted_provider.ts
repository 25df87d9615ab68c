import {
  type CompletionPart,
  type CompletionProvider,
  type CompletionRequest,
  noUsage,
} from "../../src/llm/provider.ts";

/** What one call does: its parts in order; an error is thrown, a promise waited for. */
export type Script = readonly (CompletionPart | Error | Promise<unknown>)[];

export interface ScriptedProvider extends CompletionProvider {
  /** How many completions and streams were asked for. */
  readonly calls: () => number;
  /** What completions were asked for, in order. */
  readonly requests: readonly CompletionRequest[];
}

/** A provider whose calls do what the scripts say, one after another; the last one again and again. */
export function scriptedProvider(name: string, ...scripts: readonly Script[]): ScriptedProvider {
  let calls = 0;
  const requests: CompletionRequest[] = [];
  async function* play(): AsyncGenerator<CompletionPart, void, void> {
    const script = scripts[Math.min(calls++, scripts.length - 1)] ?? [];
    for (const step of script) {
      if (step instanceof Error) throw step;
      if (step instanceof Promise) await step;
      else yield step;
    }
  }
  return {
    name,
    calls: () => calls,
    requests,
    async ping(signal) {
      signal.throwIfAborted();
      for await (const _ of play());
    },
    async complete(request) {
      requests.push(request);
      const parts = await untilAborted(request.signal, Array.fromAsync(play()));
      const text = parts.map((part) => part.type === "text" ? part.text : "").join("");
      const end = parts.find((part) => part.type === "end");
      return { text, usage: end?.usage ?? noUsage, isCut: end?.isCut ?? false };
    },
    stream: play,
  };
}

async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

export const text = (value: string): CompletionPart => ({ type: "text", text: value });
export const end = (tokens = 0): CompletionPart => ({
  type: "end",
  usage: { ...noUsage, promptTokens: tokens, completionTokens: tokens * 2 },
  isCut: false,
});
