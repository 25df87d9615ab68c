import type { FolderWatch } from "../../auth/folder_watch.ts";
import type { Config, PipelineConfig, ProviderSettings } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createCircuitBreaker } from "../../llm/circuit_breaker.ts";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../llm/create_provider.ts";
import { withFallback } from "../../llm/fallback.ts";
import { guardCompletion, guardEmbedding, guardRerank } from "../../llm/guarded_provider.ts";
import { mergeHeaders } from "../../llm/merge_headers.ts";
import { meterCompletion, meterEmbedding, meterRerank } from "../../llm/metered_provider.ts";
import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "../../llm/provider.ts";
import type { ProviderKind, ProviderOptions } from "../../llm/provider_options.ts";
import type { UsageCounter, UsageLedger } from "../../llm/usage_ledger.ts";
import { type ApiKey, missingKeyWarning, openApiKey } from "../api_key.ts";
import { longestDelayBeforeFallbackMs } from "../open_completion.ts";

export interface PipelineProvidersOptions {
  readonly vendors: Config["vendors"];
  readonly folders: FolderWatch;
  /** Outlives a reload. */
  readonly ledger: UsageLedger;
  readonly logger: Logger;
}

/** A pipeline's providers, each behind its breaker and counted. Disposing of them ends the watch of their keys' files. */
export interface PipelineProviders extends AsyncDisposable {
  readonly embedding: EmbeddingProvider;
  readonly completion: CompletionProvider;
  /** Those that `completion` asks, in its order. */
  readonly completions: readonly CompletionProvider[];
  readonly rerank?: RerankProvider;
  readonly embeddingUsage: UsageCounter;
  readonly completionUsage: UsageCounter;
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
  const { ledger, logger } = options;
  await using opening = new AsyncDisposableStack();
  const counter = (part: string) => ledger.counter(`${name}/${part}`);
  const breaker = (provider: string) =>
    createCircuitBreaker({ now: () => performance.now(), logger, provider });
  const open = async (settings: ProviderSettings<ProviderKind>, more: Partial<ProviderOptions> = {}) => {
    const key = opening.use(await openKey(settings, options));
    const warning = missingKeyWarning(settings.provider, settings.base_url, key);
    if (warning !== undefined) logger.warn(warning);
    return providerOptions(settings, key, options, more);
  };

  const embedding = createEmbeddingProvider(await open(embedding_llm));
  const completions: CompletionProvider[] = [];
  for (const [at, settings] of rag_llm.entries()) {
    const { max_tokens: maxTokens, temperature } = settings;
    const created = createCompletionProvider(
      await open(settings, {
        ...(maxTokens === undefined ? {} : { maxTokens }),
        ...(temperature === undefined ? {} : { temperature }),
        ...(at < rag_llm.length - 1 ? { longestAskedDelayMs: longestDelayBeforeFallbackMs } : {}),
      }),
    );
    const metered = meterCompletion(created, counter("completion"));
    completions.push(guardCompletion(metered, breaker(created.name)));
  }
  const reranker = rerank && createRerankProvider(await open(rerank));
  const stack = opening.move();
  return {
    embedding: guardEmbedding(meterEmbedding(embedding, counter("embedding")), breaker(embedding.name)),
    completion: withFallback(completions, logger),
    completions,
    ...(reranker === undefined
      ? {}
      : { rerank: guardRerank(meterRerank(reranker, counter("rerank")), breaker(reranker.name)) }),
    embeddingUsage: counter("embedding"),
    completionUsage: counter("completion"),
    keyFiles: [embedding_llm, ...rag_llm, ...(rerank === undefined ? [] : [rerank])]
      .flatMap(({ api_key_file }) => api_key_file ?? []),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function providerOptions(
  settings: ProviderSettings<ProviderKind>,
  key: ApiKey,
  { vendors, logger }: PipelineProvidersOptions,
  more: Partial<ProviderOptions>,
): ProviderOptions {
  const { provider: kind, model, headers } = settings;
  const baseUrl = settings.base_url ?? (kind === "ollama" ? vendors.ollama_url : undefined);
  return {
    kind,
    model,
    apiKey: key.read,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    headers: mergeHeaders(...headers),
    requestTimeoutMs: settings.request_timeout,
    perAttemptTimeoutMs: settings.per_attempt_timeout,
    logger,
    ...more,
  };
}

function openKey(
  { provider, api_key_file: file }: ProviderSettings<ProviderKind>,
  { vendors, folders, logger }: PipelineProvidersOptions,
): Promise<ApiKey> {
  if (provider === "ollama" || provider === "local") return openApiKey({}, { folders, logger });
  const { api_key: environment, api_key_file: homeFile } = vendors.keys[provider];
  return openApiKey({ file, environment, homeFile }, { folders, logger });
}
