import { type Config, modelName, type PipelineConfig, type ProviderSettings } from "../../config/mod.ts";
import type { ModelSettings } from "../../llm/onnx/read_model_folder.ts";
import { mergeHeaders } from "../../llm/transport/http_attempt.ts";
import { type ProviderKind, vendorAddresses } from "../../llm/provider_kinds.ts";
import { longestAnswer } from "../../llm/read_completion.ts";
import type { ApiKeySources, KeyedProvider } from "./provider_key.ts";

/** One provider, whichever section of the configuration describes it; times are in milliseconds. */
export interface ProviderSetting extends KeyedProvider {
  readonly model: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly maxTokens?: number | undefined;
  readonly contextTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** Of `onnx`, the model. */
  readonly onnx?: ModelSettings | undefined;
  readonly requestTimeoutMs: number;
  readonly perAttemptTimeoutMs: number;
}

type Vendors = Config["vendors"];

// for configurations of pgEdge's server that name no model
const defaultAnthropicModel = "claude-sonnet-5-5";

/** Those that `llm` names, the first choice first; none where it names none or is switched off. */
export function llmProviders({ llm, vendors }: Pick<Config, "llm" | "vendors">): ProviderSetting[] {
  const { provider, model = defaultAnthropicModel } = llm;
  if (!llm.enabled || provider === undefined) return [];
  const addressOf = (kind: typeof provider) =>
    kind === "ollama" ? llm.ollama_url ?? vendors.ollama_url : llm[`${kind}_base_url`];
  const first: NonNullable<typeof llm.fallback>[number] = { provider, model, headers: llm.headers };
  return [first, ...llm.fallback ?? []].map((entry) => {
    const { provider: kind, model } = entry;
    const ofKind = kind === "ollama"
      ? {}
      : { text: llm[`${kind}_api_key`], file: llm[`${kind}_api_key_file`] };
    return {
      kind,
      model,
      baseUrl: entry.base_url ?? addressOf(kind),
      own: { text: entry.api_key, file: entry.api_key_file },
      ofKind: withVendorKeys(kind, ofKind, vendors),
      kindAddresses: [addressOf(kind) ?? vendorAddresses[kind]],
      headers: entry.headers,
      maxTokens: longestAnswer(kind, model, llm.max_tokens),
      contextTokens: entry.context_tokens ?? llm.context_tokens,
      temperature: llm.temperature,
      requestTimeoutMs: llm.request_timeout,
      perAttemptTimeoutMs: llm.per_attempt_timeout,
    };
  });
}

/** All attempts together, of calls that somebody waits for. */
const embeddingTimeoutMs = 55_000;

/** The one that `embedding` names; undefined where it names none or is switched off. */
export function embeddingProvider(
  { embedding, vendors }: Pick<Config, "embedding" | "vendors">,
): ProviderSetting | undefined {
  const kind = embedding?.provider;
  if (embedding === undefined || embedding.enabled === false || kind === undefined) return undefined;
  const baseUrl = kind === "local" || kind === "onnx"
    ? undefined
    : kind === "ollama"
    ? embedding.ollama_url ?? vendors.ollama_url
    : embedding[`${kind}_base_url`];
  const ofKind = kind === "local" || kind === "onnx" || kind === "ollama"
    ? {}
    : { text: embedding[`${kind}_api_key`], file: embedding[`${kind}_api_key_file`] };
  return {
    kind,
    model: embedding.model ?? modelName(embedding.model_path),
    onnx: modelOf("embedding", { ...embedding, provider: kind }),
    baseUrl,
    own: {},
    ofKind: withVendorKeys(kind, ofKind, vendors),
    kindAddresses: [baseUrl ?? vendorAddresses[kind]],
    requestTimeoutMs: embeddingTimeoutMs,
    perAttemptTimeoutMs: embedding.per_attempt_timeout ?? 0,
  };
}

/** Those of a pipeline. */
export function pipelineProviders(
  { embedding_llm, rag_llm, rerank, reembed }: Pick<
    PipelineConfig,
    "embedding_llm" | "rag_llm" | "rerank" | "reembed"
  >,
  vendors: Vendors,
) {
  // those that take no other one's place get the keys of their kinds wherever they are
  const primaries = [embedding_llm, reembed?.embedding_llm, rag_llm[0], rerank].filter((each) =>
    each !== undefined
  );
  const settingOf = (
    settings: ProviderSettings<ProviderKind>,
    task: ModelSettings["task"] = "embedding",
  ): ProviderSetting => {
    const { provider: kind, model, base_url } = settings;
    return {
      kind,
      model,
      baseUrl: base_url ?? (kind === "ollama" ? vendors.ollama_url : undefined),
      own: { file: settings.own_api_key_file },
      ofKind: withVendorKeys(kind, { file: settings.api_key_file }, vendors),
      kindAddresses: [
        vendorAddresses[kind],
        ...primaries.flatMap(({ provider, base_url }) => provider === kind ? base_url ?? [] : []),
      ],
      headers: mergeHeaders(...settings.headers),
      onnx: modelOf(task, settings),
      requestTimeoutMs: settings.request_timeout,
      perAttemptTimeoutMs: settings.per_attempt_timeout,
    };
  };
  return {
    embedding: settingOf(embedding_llm),
    reembed: reembed && settingOf(reembed.embedding_llm),
    completions: rag_llm.map((settings) => ({
      ...settingOf(settings),
      maxTokens: settings.max_tokens &&
        longestAnswer(settings.provider, settings.model, settings.max_tokens),
      contextTokens: settings.context_tokens,
      temperature: settings.temperature,
    })),
    rerank: rerank && settingOf(rerank, "rerank"),
  };
}

/** The model that a section names; undefined for providers that are asked over a network, and for `local`. */
function modelOf(
  task: ModelSettings["task"],
  { provider, model_path: path, pooling, query_prefix, passage_prefix }: Pick<
    ProviderSettings<string>,
    "provider" | "model_path" | "pooling" | "query_prefix" | "passage_prefix"
  >,
): ModelSettings | undefined {
  if (provider !== "onnx" || path === undefined) return undefined;
  return { path, task, pooling, queryPrefix: query_prefix, passagePrefix: passage_prefix };
}

/** The models of this machine that a configuration names. */
export function configuredModels(
  config: Pick<Config, "embedding" | "pipelines" | "vendors">,
): ModelSettings[] {
  const settings = config.pipelines.flatMap((pipeline) => {
    const { embedding, reembed, rerank } = pipelineProviders(pipeline, config.vendors);
    return [embedding, reembed, rerank];
  });
  return [embeddingProvider(config), ...settings].flatMap((setting) => setting?.onnx ?? []);
}

/** The files that hold the providers' keys by name, without those of the home folder. */
export function keyFilesOf(settings: readonly ProviderSetting[]): string[] {
  return settings.flatMap(({ own, ofKind }) => own.file ?? ofKind.file ?? []);
}

function withVendorKeys(kind: ProviderKind, sources: ApiKeySources, vendors: Vendors): ApiKeySources {
  if (kind === "ollama" || kind === "onnx" || kind === "local") return {};
  const { api_key: environment, api_key_file: homeFile } = vendors.keys[kind];
  return { ...sources, environment, homeFile };
}
