import { createLogger } from "../../../src/core/logger.ts";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../../src/llm/create_provider.ts";
import type { CompletionRequest, OnUsage, ProviderOptions, Usage } from "../../../src/llm/provider.ts";
import {
  completionKinds,
  embeddingKinds,
  type ProviderKind,
  rerankKinds,
} from "../../../src/llm/provider_kinds.ts";
import type { VendorName } from "./vendors/vendor.ts";

// no prefix of a well-known vendor: what hides it must know it, not guess it
export const key = "zq7WvK2mXr9TbL4nYd8HcJ3pGf6SaE5u";

export interface SubjectResult {
  readonly usage: Usage;
  readonly text?: string;
  readonly isCut?: boolean;
  readonly vectors?: readonly (readonly number[])[];
  readonly results?: readonly { readonly index: number; readonly score: number }[];
}

/** One operation of one vendor, asked the same question as all others. */
export interface Subject {
  readonly name: string;
  readonly vendor: VendorName;
  readonly operation: "completion" | "stream" | "embedding" | "rerank";
  /** @param onUsage the caller's */
  run(options: ProviderOptions, signal?: AbortSignal, onUsage?: OnUsage): Promise<SubjectResult>;
  ping(options: ProviderOptions): Promise<void>;
}

export function optionsFor(
  vendor: VendorName,
  url: string,
  more: Partial<ProviderOptions> = {},
): ProviderOptions {
  const kind: ProviderKind = vendor === "rerank" ? "cohere" : vendor;
  return {
    kind,
    model: "model-1",
    baseUrl: url,
    apiKey: () => key,
    requestTimeoutMs: 10_000,
    perAttemptTimeoutMs: 10_000,
    logger: createLogger({ level: "debug", format: "json", write: () => {} }),
    random: () => 0,
    sleep: () => Promise.resolve(),
    ...more,
  };
}

const question: Omit<CompletionRequest, "signal"> = {
  system: "Be brief.",
  messages: [
    { role: "user", content: "Hello?" },
    { role: "assistant", content: "Yes." },
    { role: "user", content: "What is it?" },
  ],
};

function completion(vendor: VendorName): Subject {
  return {
    name: `${vendor} completion`,
    vendor,
    operation: "completion",
    run: (options, signal = neverAborted(), onUsage) =>
      createCompletionProvider(options).complete({ ...question, signal, onUsage }),
    ping: (options) => createCompletionProvider(options).ping(neverAborted()),
  };
}

function stream(vendor: VendorName): Subject {
  return {
    name: `${vendor} stream`,
    vendor,
    operation: "stream",
    async run(options, signal = neverAborted(), onUsage) {
      let text = "";
      for await (const part of createCompletionProvider(options).stream({ ...question, signal, onUsage })) {
        if (part.type === "end") return { text, usage: part.usage, isCut: part.isCut };
        text += part.text;
      }
      throw new Error("the stream ended without an end");
    },
    ping: (options) => createCompletionProvider(options).ping(neverAborted()),
  };
}

function embedding(vendor: VendorName): Subject {
  return {
    name: `${vendor} embedding`,
    vendor,
    operation: "embedding",
    async run(options, signal = neverAborted(), onUsage) {
      const { vectors, usage } = await createEmbeddingProvider(options)
        .embed({ texts: ["one", "two"], purpose: "document", signal, onUsage });
      return { vectors: vectors.map((vector) => [...vector]), usage };
    },
    ping: (options) => createEmbeddingProvider(options).ping(neverAborted()),
  };
}

function rerank(vendor: VendorName): Subject {
  return {
    name: `${vendor} rerank`,
    vendor,
    operation: "rerank",
    run: (options, signal = neverAborted(), onUsage) =>
      createRerankProvider(options).rerank({
        query: "blue red",
        documents: ["a green one", "a blue and red one", "a red one"],
        topK: 2,
        signal,
        onUsage,
      }),
    ping: (options) => createRerankProvider(options).ping(neverAborted()),
  };
}

/** Whatever speaks Cohere's interface is played by one; what runs on this machine speaks none. */
function vendorsOf(kinds: readonly ProviderKind[]): VendorName[] {
  const remote = kinds.filter((kind) => kind !== "local" && kind !== "onnx");
  return remote.map((kind) => kind === "cohere" ? "rerank" : kind);
}

const completing = vendorsOf(completionKinds);

export const subjects: readonly Subject[] = [
  ...completing.map(completion),
  ...completing.map(stream),
  ...vendorsOf(embeddingKinds).map(embedding),
  ...vendorsOf(rerankKinds).map(rerank),
];

export function neverAborted(): AbortSignal {
  return new AbortController().signal;
}
