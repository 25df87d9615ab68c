import type { FolderWatch } from "../auth/folder_watch.ts";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createCircuitBreaker } from "../llm/circuit_breaker.ts";
import { createCompletionProvider } from "../llm/create_provider.ts";
import { withFallback } from "../llm/fallback.ts";
import { guardCompletion } from "../llm/guarded_provider.ts";
import type { CompletionProvider } from "../llm/provider.ts";
import type { ProviderOptions } from "../llm/provider_options.ts";
import { type ApiKey, missingKeyWarning, openApiKey } from "./api_key.ts";

type LlmConfig = Config["llm"];
type ModelKind = NonNullable<LlmConfig["fallback"]>[number]["provider"];

export interface OpenCompletionOptions {
  readonly config: Config;
  readonly folders: FolderWatch;
  readonly logger: Logger;
}

export interface OpenCompletion extends AsyncDisposable {
  readonly completion: CompletionProvider;
}

/** Where another provider stands by, nobody waits long for one that is busy. */
export const longestDelayBeforeFallbackMs = 1_000;

// what configurations for pgEdge's server get that name no model
const defaultAnthropicModel = "claude-sonnet-4-5";

/** The models that the tool server asks, each behind a breaker of its own; undefined where `llm` names none. */
export async function openCompletion(options: OpenCompletionOptions): Promise<OpenCompletion | undefined> {
  const { config: { llm }, logger } = options;
  const { provider, model = defaultAnthropicModel } = llm;
  if (!llm.enabled || provider === undefined || provider === "local") return undefined;
  await using opening = new AsyncDisposableStack();
  const entries: ProviderEntry[] = [{ provider, model, headers: llm.headers }, ...llm.fallback ?? []];
  const providers: CompletionProvider[] = [];
  for (const [at, entry] of entries.entries()) {
    const key = opening.use(await openKey(entry.provider, options));
    const warning = missingKeyWarning(
      entry.provider,
      entry.base_url ?? ownAddress(options.config, entry.provider),
      key,
    );
    if (warning !== undefined) logger.warn(warning);
    const created = createCompletionProvider({
      ...providerOptions(entry, key, options),
      ...(at < entries.length - 1 ? { longestAskedDelayMs: longestDelayBeforeFallbackMs } : {}),
    });
    providers.push(
      guardCompletion(
        created,
        createCircuitBreaker({ now: () => performance.now(), logger, provider: created.name }),
      ),
    );
  }
  const stack = opening.move();
  return {
    completion: withFallback(providers, logger),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

interface ProviderEntry {
  readonly provider: ModelKind;
  readonly model: string;
  readonly base_url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

function providerOptions(
  { provider, model, base_url, headers }: ProviderEntry,
  key: ApiKey,
  { config, logger }: OpenCompletionOptions,
): ProviderOptions {
  const { llm } = config;
  const baseUrl = base_url ?? ownAddress(config, provider);
  return {
    kind: provider,
    model,
    apiKey: key.read,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(headers === undefined ? {} : { headers }),
    maxTokens: llm.max_tokens,
    ...(llm.temperature === undefined ? {} : { temperature: llm.temperature }),
    requestTimeoutMs: llm.request_timeout,
    perAttemptTimeoutMs: llm.per_attempt_timeout,
    logger,
  };
}

/** The address that `llm` or the environment has for a kind of provider; undefined: the vendor's own. */
function ownAddress({ llm, vendors }: Config, kind: ModelKind): string | undefined {
  switch (kind) {
    case "anthropic":
      return llm.anthropic_base_url;
    case "openai":
      return llm.openai_base_url;
    case "gemini":
      return llm.gemini_base_url;
    case "ollama":
      return llm.ollama_url ?? vendors.ollama_url;
  }
}

function openKey(kind: ModelKind, { config: { llm, vendors }, folders, logger }: OpenCompletionOptions) {
  if (kind === "ollama") return openApiKey({}, { folders, logger });
  const { api_key, api_key_file } = vendors.keys[kind];
  return openApiKey({
    text: llm[`${kind}_api_key`],
    file: llm[`${kind}_api_key_file`],
    environment: api_key,
    homeFile: api_key_file,
  }, { folders, logger });
}
