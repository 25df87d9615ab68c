import { type Config, defaultVectorWeight } from "../../config/mod.ts";
import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServerMetrics } from "../../core/metrics/server_metrics.ts";
import type { Quotas } from "../../core/quotas/quotas.ts";
import { providerName } from "../../llm/provider.ts";
import { tokensOf } from "../../llm/usage_ledger.ts";
import { vendorAddresses } from "../../llm/provider_kinds.ts";
import type { Embedding } from "../../tool_server/tools/documents/embedding.ts";
import { type KeyedProvider, openProviderKey } from "../provider_key.ts";

interface OpenEmbeddingOptions {
  readonly config: Pick<Config, "embedding" | "vendors" | "traces">;
  readonly files: FileWatch;
  readonly metrics: ServerMetrics;
  /** Counted nowhere where absent. */
  readonly quotas?: Quotas | undefined;
  readonly logger: Logger;
}

type EmbeddingKind = NonNullable<NonNullable<Config["embedding"]>["provider"]>;

/** All attempts together, of calls that somebody waits for. */
const requestTimeoutMs = 55_000;

interface OpenEmbedding extends Embedding, AsyncDisposable {
  /** Named by the configuration. */
  readonly keyFiles: readonly string[];
}

/** What the tool server embeds with, opened when it is first used; undefined where `embedding` names no provider. */
export function openEmbedding(options: OpenEmbeddingOptions): OpenEmbedding | undefined {
  const { config, files, metrics, quotas, logger } = options;
  const { embedding: settings } = config;
  const kind = settings?.provider;
  if (settings === undefined || settings.enabled === false || kind === undefined) return undefined;
  const { model = "", per_attempt_timeout: perAttemptTimeoutMs = 0 } = settings;
  const opened = new AsyncDisposableStack();

  async function open() {
    const { createEmbeddingProvider } = await import("../../llm/create_provider.ts");
    const keyed = keyedProvider(kind ?? "local", config);
    const key = opened.use(await openProviderKey(keyed, { files, logger }));
    return createEmbeddingProvider({
      kind: keyed.kind,
      model,
      baseUrl: keyed.baseUrl,
      apiKey: key.read,
      requestTimeoutMs,
      perAttemptTimeoutMs,
      tracedOrigins: config.traces.propagate_to,
      metrics: opened.use(metrics.ofProvider("tool_server", "", providerName({ kind: keyed.kind, model }))),
      logger,
    });
  }

  let provider: ReturnType<typeof open> | undefined;
  return {
    model: model === "" ? kind : model,
    vectorWeight: defaultVectorWeight(kind),
    keyFiles: kind === "local" || kind === "ollama"
      ? []
      : [settings[`${kind}_api_key_file`]].filter((path) => path !== undefined),
    provider: () => provider ??= open(),
    count(principal) {
      if (!quotas?.isOn) return undefined;
      quotas.beforeProvider(principal);
      return (usage) => quotas.usedTokens(principal, tokensOf(usage));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function keyedProvider(
  kind: EmbeddingKind,
  { embedding = {}, vendors }: Pick<Config, "embedding" | "vendors">,
): KeyedProvider {
  const address = kind === "local"
    ? undefined
    : kind === "ollama"
    ? embedding.ollama_url ?? vendors.ollama_url
    : embedding[`${kind}_base_url`];
  const hasKey = kind !== "local" && kind !== "ollama";
  return {
    kind,
    baseUrl: address,
    own: {},
    ofKind: !hasKey ? {} : {
      text: embedding[`${kind}_api_key`],
      file: embedding[`${kind}_api_key_file`],
      environment: vendors.keys[kind].api_key,
      homeFile: vendors.keys[kind].api_key_file,
    },
    kindAddresses: [address ?? vendorAddresses[kind]],
  };
}
