import type { ProviderKind } from "../provider_kinds.ts";

const addresses: Readonly<Record<Exclude<ProviderKind, "local">, string>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
  voyage: "https://api.voyageai.com/v1",
  cohere: "https://api.cohere.com/v2",
  ollama: "http://localhost:11434",
};

/** Where a kind of provider is found that is given no other address. */
export function vendorAddress(kind: Exclude<ProviderKind, "local">): string {
  return addresses[kind];
}
