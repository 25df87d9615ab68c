/**
 * With a base URL, `openai` and `cohere` are any server that speaks those vendors' interfaces. `onnx`, a
 * model in a folder of this machine, and `local`, which is none, need neither network nor key, `ollama` no key.
 */
export type ProviderKind = CompletionKind | EmbeddingKind | RerankKind;

export const completionKinds = ["openai", "anthropic", "gemini", "ollama", "local"] as const;
export type CompletionKind = (typeof completionKinds)[number];

export const embeddingKinds = ["openai", "gemini", "voyage", "ollama", "onnx", "local"] as const;
export type EmbeddingKind = (typeof embeddingKinds)[number];

export const rerankKinds = ["voyage", "cohere", "onnx"] as const;
export type RerankKind = (typeof rerankKinds)[number];

/** Vendors that want a key. */
export type KeyVendor = Exclude<ProviderKind, "ollama" | "onnx" | "local">;

/** The address of each kind if the configuration names no other; `onnx` and `local` have none. */
export const vendorAddresses: Readonly<Record<ProviderKind, string>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
  voyage: "https://api.voyageai.com/v1",
  cohere: "https://api.cohere.com/v2",
  ollama: "http://localhost:11434",
  onnx: "",
  local: "",
};

/** What makes one vector of the vectors of a text's tokens. */
export const poolings = ["mean", "cls", "max"] as const;
export type Pooling = (typeof poolings)[number];
