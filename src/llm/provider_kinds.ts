/**
 * `openai` and `cohere` with an address of one's own are whatever speaks those vendors' interfaces; `local` needs neither
 * network nor key, `ollama` no key.
 */
export type ProviderKind = CompletionKind | EmbeddingKind | RerankKind;

export const completionKinds = ["openai", "anthropic", "gemini", "ollama", "local"] as const;
export type CompletionKind = (typeof completionKinds)[number];

export const embeddingKinds = ["openai", "gemini", "voyage", "ollama", "local"] as const;
export type EmbeddingKind = (typeof embeddingKinds)[number];

export const rerankKinds = ["voyage", "cohere", "local"] as const;
export type RerankKind = (typeof rerankKinds)[number];

/** Vendors that want a key. */
export type KeyVendor = Exclude<ProviderKind, "ollama" | "local">;
