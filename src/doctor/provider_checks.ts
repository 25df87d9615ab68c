import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "../llm/provider.ts";
import { ProviderError, type ProviderErrorKind } from "../llm/provider_error.ts";
import { type Check, type CheckResult, note } from "../rag_server/checks/check.ts";

/**
 * Whether the provider embeds a text.
 *
 * @param embed makes the vector of one
 */
export function embeddingCheck(
  provider: EmbeddingProvider,
  embed: (signal: AbortSignal) => Promise<Float32Array>,
): Check {
  return {
    name: `embedding by ${provider.name}`,
    run: (signal) =>
      ask(provider.name, "error", async () => [note(`${(await embed(signal)).length} dimensions`)]),
  };
}

/**
 * Whether a provider begins an answer. A ping would not do: most take the key without a look at the model's name.
 *
 * @param isFallback it answers only where another one fails
 */
export function completionCheck(provider: CompletionProvider, isFallback: boolean): Check {
  return {
    name: `${isFallback ? "fallback completion" : "completion"} by ${provider.name}`,
    run: (signal) =>
      ask(provider.name, isFallback ? "warning" : "error", async () => {
        const messages = [{ role: "user", content: "Reply with the word yes." }] as const;
        // the rest of the answer is not paid for
        for await (const _ of provider.stream({ messages, signal })) break;
        return [];
      }),
  };
}

/** Whether a provider reranks. A pipeline goes on without it where it does not. */
export function rerankCheck(provider: RerankProvider): Check {
  return {
    name: `rerank by ${provider.name}`,
    run: (signal) =>
      ask(provider.name, "warning", async () => {
        await provider.rerank({ query: "ping", documents: ["ping"], signal });
        return [];
      }),
  };
}

/** @param attempt what it resolves with is told; what it throws is an error of the provider's */
async function ask(
  name: string,
  severity: "error" | "warning",
  attempt: () => Promise<CheckResult[]>,
): Promise<CheckResult[]> {
  try {
    return await attempt();
  } catch (thrown) {
    const { message, detail, kind } = providerError(thrown);
    const text = `${name}: ${detail === "" ? message : `${message}: ${detail}`}`;
    return [{ ok: false, severity, message: text, remedy: remedyOf(name, kind) }];
  }
}

function providerError(thrown: unknown): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  if (thrown instanceof DOMException && thrown.name === "TimeoutError") {
    return new ProviderError("timeout", "");
  }
  throw thrown;
}

const remedies: Readonly<Record<ProviderErrorKind, string>> = {
  credentials: "-- Put a valid key into the provider's key file (api_keys) or its environment variable",
  rate_limit: "-- Wait, or raise the account's limit or balance with the provider",
  invalid_request: "-- Correct model, dimensions and base_url of this provider in the configuration",
  unsupported: "-- Choose a provider that offers this, and check that base_url is the address of its API",
  provider: "-- Look at the provider's status page, then try again",
  unreachable: "-- Correct base_url, and check that this machine reaches it: curl -I BASE_URL",
  timeout: "-- Raise request_timeout and per_attempt_timeout, or choose a faster model",
  internal: "-- Look at the server's log",
};

function remedyOf(name: string, errorKind: ProviderErrorKind): string {
  const [kind, ...model] = name.split("/");
  if (kind !== "ollama") return remedies[errorKind];
  if (errorKind === "unreachable") return "ollama serve";
  return errorKind === "invalid_request" ? `ollama pull ${model.join("/")}` : remedies[errorKind];
}
