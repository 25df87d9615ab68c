import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Config, PipelineConfig, ProviderSettings } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createServerMetrics, type ServerMetrics } from "../../core/metrics/server_metrics.ts";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../llm/create_provider.ts";
import { requireText } from "../../llm/read_completion.ts";
import { longestDelayBeforeFallbackMs, withFallback } from "../../llm/fallback.ts";
import { longestAnswer } from "../../llm/vendors/longest_answer.ts";
import { mergeHeaders } from "../../llm/transport/http_attempt.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  providerName,
  type ProviderOptions,
  type RerankProvider,
} from "../../llm/provider.ts";
import { type ProviderKind, vendorAddresses } from "../../llm/provider_kinds.ts";
import type { UsageCounter, UsageLedger } from "../../llm/usage_ledger.ts";
import type { PipelineUsage } from "../../rag_server/pipeline.ts";
import { type ApiKeySources, openProviderKey } from "../provider_key.ts";

interface PipelineProvidersOptions {
  readonly vendors: Config["vendors"];
  /** Origins that are told the span of a request; none where absent. */
  readonly tracedOrigins?: readonly string[];
  readonly files: FileWatch;
  /** Outlives a reload. */
  readonly ledger: UsageLedger;
  /** Counted nowhere where absent. */
  readonly metrics?: ServerMetrics;
  readonly logger: Logger;
}

/** A pipeline's providers, each behind its breaker and counted. Disposing of them ends the watch of their keys' files. */
export interface PipelineProviders extends AsyncDisposable {
  readonly embedding: EmbeddingProvider;
  readonly completion: CompletionProvider;
  /** Those that `completion` asks, in its order. */
  readonly completions: readonly CompletionProvider[];
  readonly rerank?: RerankProvider | undefined;
  readonly usage: PipelineUsage;
  /** Named by the configuration. */
  readonly keyFiles: readonly string[];
}

export async function openPipelineProviders(
  { name, embedding_llm, rag_llm, rerank }: Pick<
    PipelineConfig,
    "name" | "embedding_llm" | "rag_llm" | "rerank"
  >,
  options: PipelineProvidersOptions,
): Promise<PipelineProviders> {
  const { vendors, tracedOrigins, ledger, metrics = createServerMetrics(), logger } = options;
  await using opening = new AsyncDisposableStack();
  const withRerank = rerank === undefined ? [] : [rerank];
  // those that take no other one's place get the keys of their kinds wherever they are
  const primaries: readonly Settings[] = [embedding_llm, ...rag_llm.slice(0, 1), ...withRerank];

  async function open(settings: Settings, usage: UsageCounter): Promise<ProviderOptions> {
    const { provider: kind, model, base_url } = settings;
    const key = await openProviderKey({
      kind,
      baseUrl: base_url,
      own: { file: settings.own_api_key_file },
      ofKind: kindKeySources(kind, settings.api_key_file, vendors),
      kindAddresses: [
        vendorAddresses[kind],
        ...primaries.flatMap(({ provider, base_url }) => provider === kind ? base_url ?? [] : []),
      ],
    }, options);
    opening.use(key);
    const baseUrl = base_url ?? (kind === "ollama" ? vendors.ollama_url : undefined);
    return {
      kind,
      model,
      apiKey: key.read,
      ...(baseUrl !== undefined && { baseUrl }),
      headers: mergeHeaders(...settings.headers),
      requestTimeoutMs: settings.request_timeout,
      perAttemptTimeoutMs: settings.per_attempt_timeout,
      onUsage: usage.add,
      tracedOrigins,
      metrics: opening.use(metrics.ofProvider("rag_server", name, providerName({ kind, model }))),
      logger,
    };
  }

  const usage = {
    embedding: ledger.counter(`${name}/embedding`),
    completion: ledger.counter(`${name}/completion`),
    rerank: ledger.counter(`${name}/rerank`),
  };
  const embedding = createEmbeddingProvider(await open(embedding_llm, usage.embedding));
  const completions: CompletionProvider[] = [];
  for (const [at, settings] of rag_llm.entries()) {
    completions.push(createCompletionProvider({
      ...await open(settings, usage.completion),
      ...answerOptions(settings),
      ...(at < rag_llm.length - 1 && { longestAskedDelayMs: longestDelayBeforeFallbackMs }),
    }));
  }
  const reranker = rerank && createRerankProvider(await open(rerank, usage.rerank));
  const stack = opening.move();
  const timeoutMs = rag_llm[0]?.request_timeout ?? 0;
  return {
    embedding,
    completion: requireText(withFallback(completions, logger, { timeoutMs }), logger),
    completions,
    rerank: reranker,
    usage: { ...usage, rerank: rerank && usage.rerank },
    keyFiles: [embedding_llm, ...rag_llm, ...withRerank]
      .flatMap(({ own_api_key_file, api_key_file }) => own_api_key_file ?? api_key_file ?? []),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Settings = ProviderSettings<ProviderKind>;

function answerOptions(settings: PipelineConfig["rag_llm"][number]): Partial<ProviderOptions> {
  const { provider, model, max_tokens, context_tokens: contextTokens, temperature } = settings;
  return {
    ...(max_tokens !== undefined && { maxTokens: longestAnswer(provider, model, max_tokens) }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(temperature !== undefined && { temperature }),
  };
}

function kindKeySources(
  kind: ProviderKind,
  file: string | undefined,
  vendors: Config["vendors"],
): ApiKeySources {
  if (kind === "ollama" || kind === "local") return {};
  const { api_key: environment, api_key_file: homeFile } = vendors.keys[kind];
  return { file, environment, homeFile };
}
