import type { FileWatch } from "../../core/files/watch_files.ts";
import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createServerMetrics, type ServerMetrics } from "../../core/metrics/server_metrics.ts";
import { createCompletionProvider } from "../../llm/create_provider.ts";
import { longestDelayBeforeFallbackMs, withFallback } from "../../llm/fallback.ts";
import { longestAnswer } from "../../llm/vendors/longest_answer.ts";
import { type CompletionProvider, type OnUsage, providerName } from "../../llm/provider.ts";
import { vendorAddresses } from "../../llm/provider_kinds.ts";
import { type ApiKeySources, type KeyedProvider, openProviderKey } from "../provider_key.ts";

type LlmConfig = Config["llm"];
type ModelKind = NonNullable<LlmConfig["fallback"]>[number]["provider"];

interface OpenCompletionOptions {
  readonly config: Config;
  readonly files: FileWatch;
  /** Told what each request uses. */
  readonly onUsage?: OnUsage;
  /** Counted nowhere where absent. */
  readonly metrics?: ServerMetrics;
  readonly logger: Logger;
}

interface OpenCompletion extends AsyncDisposable {
  readonly completion: CompletionProvider;
  /** Those that it asks, the first choice first. */
  readonly providers: readonly CompletionProvider[];
}

// for configurations of pgEdge's server that name no model
const defaultAnthropicModel = "claude-sonnet-5-5";

/** The models that the tool server asks, each behind a breaker of its own; undefined where `llm` names none. */
export async function openCompletion(options: OpenCompletionOptions): Promise<OpenCompletion | undefined> {
  const { config: { llm }, onUsage, metrics = createServerMetrics(), logger } = options;
  const { provider, model = defaultAnthropicModel } = llm;
  if (!llm.enabled || provider === undefined) return undefined;
  await using opening = new AsyncDisposableStack();
  const entries: ProviderEntry[] = [{ provider, model, headers: llm.headers }, ...llm.fallback ?? []];
  const providers: CompletionProvider[] = [];
  for (const [at, entry] of entries.entries()) {
    const { provider: kind, model } = entry;
    const keyed = keyedProvider(entry, options.config);
    const key = opening.use(await openProviderKey(keyed, options));
    const counted = opening.use(metrics.ofProvider("tool_server", "", providerName({ kind, model })));
    providers.push(createCompletionProvider({
      kind,
      model,
      baseUrl: keyed.baseUrl,
      apiKey: key.read,
      headers: entry.headers,
      maxTokens: longestAnswer(kind, model, llm.max_tokens),
      contextTokens: entry.context_tokens ?? llm.context_tokens,
      temperature: llm.temperature,
      requestTimeoutMs: llm.request_timeout,
      perAttemptTimeoutMs: llm.per_attempt_timeout,
      longestAskedDelayMs: at < entries.length - 1 ? longestDelayBeforeFallbackMs : undefined,
      onUsage,
      tracedOrigins: options.config.traces.propagate_to,
      metrics: counted,
      logger,
    }));
  }
  const stack = opening.move();
  return {
    completion: withFallback(providers, logger, { timeoutMs: llm.request_timeout }),
    providers,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

interface ProviderEntry {
  readonly provider: ModelKind;
  readonly model: string;
  readonly base_url?: string | undefined;
  readonly api_key?: string | undefined;
  readonly api_key_file?: string | undefined;
  readonly context_tokens?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The address that `llm` or the environment names for a kind of provider; undefined: the vendor's own. */
function ownAddress({ llm, vendors }: Config, kind: ModelKind): string | undefined {
  return kind === "ollama" ? llm.ollama_url ?? vendors.ollama_url : llm[`${kind}_base_url`];
}

function keyedProvider(entry: ProviderEntry, config: Config): KeyedProvider {
  const { provider: kind, base_url, api_key: text, api_key_file: file } = entry;
  return {
    kind,
    baseUrl: base_url ?? ownAddress(config, kind),
    own: { text, file },
    ofKind: kindKeySources(kind, config),
    kindAddresses: [ownAddress(config, kind) ?? vendorAddresses[kind]],
  };
}

function kindKeySources(kind: ModelKind, { llm, vendors }: Config): ApiKeySources {
  if (kind === "ollama") return {};
  const { api_key: environment, api_key_file: homeFile } = vendors.keys[kind];
  return { text: llm[`${kind}_api_key`], file: llm[`${kind}_api_key_file`], environment, homeFile };
}
