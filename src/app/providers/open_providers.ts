import { type Config, defaultVectorWeight, type PipelineConfig } from "../../config/mod.ts";
import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import type { OnnxModels } from "../../llm/onnx/onnx_models.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { createServerMetrics, type ServedBy, type ServerMetrics } from "../../core/metrics/server_metrics.ts";
import {
  createCompletionProvider,
  createEmbeddingProvider,
  createRerankProvider,
} from "../../llm/create_provider.ts";
import { longestDelayBeforeFallbackMs, withFallback } from "../../llm/fallback.ts";
import {
  type CompletionProvider,
  type EmbeddingProvider,
  type OnUsage,
  providerName,
  type ProviderOptions,
} from "../../llm/provider.ts";
import { requireText } from "../../llm/read_completion.ts";
import type { Embedding } from "../../tool_server/tools/documents/embedding.ts";
import { openProviderKey } from "./provider_key.ts";
import {
  embeddingProvider,
  keyFilesOf,
  llmProviders,
  pipelineProviders,
  type ProviderSetting,
} from "./provider_settings.ts";
import { tokensOf, type UsageLedger } from "../../llm/usage.ts";

interface OpenOptions {
  readonly files: FileWatch;
  /** Those of this machine. Optional: none where no provider is of the kind onnx. */
  readonly models?: OnnxModels | undefined;
  /** Optional; omit to disable counting. */
  readonly metrics?: ServerMetrics;
  /** Optional: origins that are told the span of a request. */
  readonly tracedOrigins?: readonly string[];
  readonly logger: Logger;
}

interface Completions {
  readonly completion: CompletionProvider;
  /** Those that it asks, the first choice first. */
  readonly completions: readonly CompletionProvider[];
}

/** Opens providers of one server or pipeline. What is opened goes with the stack. */
function opener(
  server: ServedBy,
  pipeline: string,
  { files, models, metrics = createServerMetrics(), tracedOrigins, logger }: OpenOptions,
  opened: AsyncDisposableStack,
) {
  async function optionsOf(setting: ProviderSetting, onUsage?: OnUsage): Promise<ProviderOptions> {
    const { own: _, ofKind: _kind, kindAddresses: _addresses, onnx: model, ...rest } = setting;
    const key = opened.use(await openProviderKey(setting, { files, logger }));
    return {
      ...rest,
      apiKey: key.read,
      onnx: model && models && opened.use(await models.open(model)),
      onUsage,
      tracedOrigins,
      metrics: opened.use(metrics.ofProvider(server, pipeline, providerName(setting))),
      logger,
    };
  }
  return {
    optionsOf,
    async completions(settings: readonly ProviderSetting[], onUsage?: OnUsage): Promise<Completions> {
      const completions: CompletionProvider[] = [];
      for (const [at, setting] of settings.entries()) {
        completions.push(createCompletionProvider({
          ...await optionsOf(setting, onUsage),
          longestAskedDelayMs: at < settings.length - 1 ? longestDelayBeforeFallbackMs : undefined,
        }));
      }
      const timeoutMs = settings[0]?.requestTimeoutMs ?? 0;
      return { completion: withFallback(completions, logger, { timeoutMs }), completions };
    },
  };
}

/** The models that the tool server asks, each behind a breaker of its own; undefined where `llm` names none. */
export async function openCompletion(
  { config, onUsage, ...options }: Omit<OpenOptions, "tracedOrigins"> & {
    readonly config: Config;
    readonly onUsage?: OnUsage;
  },
): Promise<Completions & AsyncDisposable | undefined> {
  const settings = llmProviders(config);
  if (settings.length === 0) return undefined;
  await using opening = new AsyncDisposableStack();
  const { propagate_to: tracedOrigins } = config.traces;
  const { completions } = opener("tool_server", "", { ...options, tracedOrigins }, opening);
  const opened = await completions(settings, onUsage);
  const stack = opening.move();
  return { ...opened, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** What the tool server embeds with, opened when it is first used; undefined where `embedding` names no provider. */
export function openEmbedding(
  { config, quotas, ...options }: Omit<OpenOptions, "tracedOrigins"> & {
    readonly config: Pick<Config, "embedding" | "vendors" | "traces">;
    readonly quotas?: Quotas | undefined;
  },
): Embedding & AsyncDisposable | undefined {
  const setting = embeddingProvider(config);
  if (setting === undefined) return undefined;
  const opened = new AsyncDisposableStack();
  const { propagate_to: tracedOrigins } = config.traces;
  const { optionsOf } = opener("tool_server", "", { ...options, tracedOrigins }, opened);
  let provider: Promise<EmbeddingProvider> | undefined;
  return {
    model: setting.model === "" ? setting.kind : setting.model,
    vectorWeight: defaultVectorWeight(setting.kind),
    provider: () => provider ??= optionsOf(setting).then(createEmbeddingProvider),
    count(principal) {
      if (!quotas?.isOn) return undefined;
      quotas.beforeProvider(principal);
      return (usage) => quotas.usedTokens(principal, tokensOf(usage));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** A pipeline's providers, each behind its breaker and counted. Disposing of them ends the watch of their keys' files. */
export type PipelineProviders = Awaited<ReturnType<typeof openPipelineProviders>>;

/** @param ledger counts tokens, and outlives a reload */
export async function openPipelineProviders(
  config: Pick<PipelineConfig, "name" | "embedding_llm" | "rag_llm" | "rerank" | "reembed">,
  { vendors, ledger, ...options }: OpenOptions & {
    readonly vendors: Config["vendors"];
    readonly ledger: UsageLedger;
  },
) {
  await using opening = new AsyncDisposableStack();
  const { name } = config;
  const settings = pipelineProviders(config, vendors);
  if (settings.embedding.kind === "local") {
    options.logger.info(
      "Embeddings of the kind local are for demonstrations and tests: they know letters, not meaning",
    );
  }
  const { optionsOf, completions } = opener("rag_server", name, options, opening);
  const usage = {
    embedding: ledger.counter(`${name}/embedding`),
    completion: ledger.counter(`${name}/completion`),
    rerank: settings.rerank && ledger.counter(`${name}/rerank`),
  };
  const embedding = createEmbeddingProvider(await optionsOf(settings.embedding, usage.embedding.add));
  const reembed = config.reembed && settings.reembed && {
    embedding: createEmbeddingProvider(await optionsOf(settings.reembed, usage.embedding.add)),
    vectorColumn: config.reembed.vector_column,
  };
  const opened = await completions(settings.completions, usage.completion.add);
  const models = opened.completions.filter((_, at) => settings.completions[at]?.kind !== "local");
  const rerank = settings.rerank &&
    createRerankProvider(await optionsOf(settings.rerank, usage.rerank?.add));
  const stack = opening.move();
  return {
    embedding,
    /** Optional: none where the configuration names no model in place of that. */
    reembed,
    ...opened,
    completion: requireText(opened.completion, options.logger),
    /** Those of `completion` that follow instructions; undefined where none does. */
    model: models.length === 0 ? undefined : withFallback(models, options.logger),
    rerank,
    usage,
    /** Named by the configuration. */
    keyFiles: keyFilesOf([
      settings.embedding,
      ...(settings.reembed === undefined ? [] : [settings.reembed]),
      ...settings.completions,
      ...(settings.rerank === undefined ? [] : [settings.rerank]),
    ]),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
