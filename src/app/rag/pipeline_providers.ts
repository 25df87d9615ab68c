import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Config, PipelineConfig, ProviderSettings } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../llm/create_provider.ts";
import { requireText } from "../../llm/read_completion.ts";
import { longestDelayBeforeFallbackMs, withFallback } from "../../llm/fallback.ts";
import { longestAnswer } from "../../llm/vendors/longest_answer.ts";
import { mergeHeaders } from "../../llm/transport/http_attempt.ts";
import type {
  CompletionProvider,
  EmbeddingProvider,
  ProviderOptions,
  RerankProvider,
} from "../../llm/provider.ts";
import { type ProviderKind, vendorAddresses } from "../../llm/provider_kinds.ts";
import type { UsageLedger } from "../../llm/usage_ledger.ts";
import type { PipelineUsage } from "../../rag_server/pipeline.ts";
import { type ApiKey, type ApiKeySources, type KeyedProvider, openProviderKey } from "../provider_key.ts";

export interface PipelineProvidersOptions {
  readonly vendors: Config["vendors"];
  readonly files: FileWatch;
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
  const { ledger, logger } = options;
  await using opening = new AsyncDisposableStack();
  const counter = (part: Part) => ledger.counter(`${name}/${part}`);
  const primaries = [embedding_llm, ...rag_llm.slice(0, 1), ...(rerank === undefined ? [] : [rerank])];
  const open: OpenProvider = (settings, part, more) =>
    openProvider(settings, primaries, options, opening, { onUsage: counter(part).add, ...more });

  const embedding = await open(embedding_llm, "embedding");
  const completions = await openCompletions(rag_llm, open);
  const reranker = rerank && await open(rerank, "rerank");
  const stack = opening.move();
  const timeoutMs = rag_llm[0]?.request_timeout ?? 0;
  return {
    embedding: createEmbeddingProvider(embedding),
    completion: requireText(withFallback(completions, logger, { timeoutMs }), logger),
    completions,
    rerank: reranker && createRerankProvider(reranker),
    usage: {
      embedding: counter("embedding"),
      completion: counter("completion"),
      rerank: reranker && counter("rerank"),
    },
    keyFiles: [embedding_llm, ...rag_llm, ...(rerank === undefined ? [] : [rerank])]
      .flatMap(({ own_api_key_file, api_key_file }) => own_api_key_file ?? api_key_file ?? []),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type Settings = ProviderSettings<ProviderKind>;

type Part = "embedding" | "completion" | "rerank";
type OpenProvider = (
  settings: Settings,
  part: Part,
  more?: Partial<ProviderOptions>,
) => Promise<ProviderOptions>;

async function openProvider(
  settings: Settings,
  primaries: readonly Settings[],
  options: PipelineProvidersOptions,
  opening: AsyncDisposableStack,
  more: Partial<ProviderOptions>,
): Promise<ProviderOptions> {
  const keyed: KeyedProvider = {
    kind: settings.provider,
    baseUrl: settings.base_url,
    ...keySourcesOf(settings, primaries, options),
  };
  const key = opening.use(await openProviderKey(keyed, options));
  return providerOptions(settings, key, options, more);
}

/** The one to ask and its fallbacks, each behind its breaker and counted. */
async function openCompletions(
  all: PipelineConfig["rag_llm"],
  open: OpenProvider,
): Promise<CompletionProvider[]> {
  const completions: CompletionProvider[] = [];
  for (const [at, each] of all.entries()) {
    const isLast = at === all.length - 1;
    const options = await open(each, "completion", {
      ...answerOptions(each),
      ...(isLast ? {} : { longestAskedDelayMs: longestDelayBeforeFallbackMs }),
    });
    completions.push(createCompletionProvider(options));
  }
  return completions;
}

function answerOptions(settings: PipelineConfig["rag_llm"][number]): Partial<ProviderOptions> {
  const { provider, model, max_tokens, context_tokens: contextTokens, temperature } = settings;
  return {
    ...(max_tokens === undefined ? {} : { maxTokens: longestAnswer(provider, model, max_tokens) }),
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(temperature === undefined ? {} : { temperature }),
  };
}

function providerOptions(
  settings: Settings,
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

/** @param primaries the providers that take no other one's place: they get the keys of their kinds wherever they are */
function keySourcesOf(
  settings: Settings,
  primaries: readonly Settings[],
  { vendors }: PipelineProvidersOptions,
): Pick<KeyedProvider, "own" | "ofKind" | "kindAddresses"> {
  const { provider: kind, own_api_key_file, api_key_file } = settings;
  return {
    own: { file: own_api_key_file },
    ofKind: kindKeySources(kind, api_key_file, vendors),
    kindAddresses: [
      vendorAddresses[kind],
      ...primaries.flatMap(({ provider, base_url }) => provider === kind ? base_url ?? [] : []),
    ],
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
