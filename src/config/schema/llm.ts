import { z } from "zod";
import type { CompletionKind, EmbeddingKind } from "../../llm/provider_kinds.ts";
import {
  apiKey,
  choice,
  columnPattern,
  filePath,
  headerMap,
  integer,
  list,
  section,
  temperature,
  text,
  timeout,
  toggle,
  webAddress,
} from "./field_types.ts";

const contextTokens = () =>
  integer(1024).optional().describe(
    "Ollama's context window, in tokens; without it as large as the prompts need",
  );

/** Those that are asked over the network, in the order in which faults name them. */
const remoteKinds = ["anthropic", "openai", "gemini", "ollama"] as const satisfies readonly CompletionKind[];
const vectorKinds = [
  "openai",
  "voyage",
  "gemini",
  "ollama",
  "local",
] as const satisfies readonly EmbeddingKind[];

/** A provider that takes over where those before it fail. */
const fallback = section({
  provider: choice(...remoteKinds),
  model: text().describe("The provider's name for the model"),
  base_url: webAddress().optional().describe("Gateway in place of the provider's own address"),
  api_key: apiKey().optional().describe("Its key; a file is safer"),
  api_key_file: filePath().optional().describe(
    "File that holds its key; without it the key for its kind, unless base_url is at another address",
  ),
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  context_tokens: contextTokens(),
});

/** Completion provider of the tool server. */
export const llm = section({
  enabled: toggle().prefault(true).describe("Answer requests in natural language where a provider is set"),
  provider: choice(...remoteKinds, "local").optional().describe(
    "Kind of provider",
  ),
  model: text().optional().describe("The provider's name for the model"),
  anthropic_api_key: apiKey().optional().describe("Anthropic's key; a file is safer"),
  anthropic_api_key_file: filePath().optional().describe("File that holds Anthropic's key"),
  anthropic_base_url: webAddress().optional().describe("Gateway in place of Anthropic's own address"),
  openai_api_key: apiKey().optional().describe("OpenAI's key; a file is safer"),
  openai_api_key_file: filePath().optional().describe("File that holds OpenAI's key"),
  openai_base_url: webAddress().optional().describe(
    "Gateway or local server in place of OpenAI's own address",
  ),
  gemini_api_key: apiKey().optional().describe("Gemini's key; a file is safer"),
  gemini_api_key_file: filePath().optional().describe("File that holds Gemini's key"),
  gemini_base_url: webAddress().optional().describe("Gateway in place of Gemini's own address"),
  ollama_url: webAddress().optional().describe("Address of Ollama"),
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  fallback: list(fallback).optional().describe("Further providers, each asked where those before it fail"),
  max_tokens: integer(1).optional().describe(
    "Longest answer, in tokens, a model's thoughts among them; without it 16000 where models think, else 4096",
  ),
  context_tokens: contextTokens(),
  temperature: temperature().optional().describe(
    "Sampling temperature; sent only where it is set, since some models refuse it",
  ),
  request_timeout: timeout().prefault("55s").describe(
    "Longest wait for an answer, all providers and attempts together; 0: no limit",
  ),
  per_attempt_timeout: timeout().prefault("55s").describe("Longest wait for one attempt; 0: no limit"),
  schema_token_budget: integer(500, 1_000_000).prefault(8000).describe(
    "Tokens of a prompt that describe tables",
  ),
  sample_values: toggle().prefault(false).describe(
    "Show the provider values of columns that have few, so that it writes them as they are stored",
  ),
  excluded_columns: list(columnPattern()).prefault([]).describe(
    "Columns whose values are never shown: column, table.column or schema.table.column, with * for any text",
  ),
  max_plan_cost: z.number({ error: "expected a number above 0" }).positive({
    error: "expected a number above 0",
  })
    .optional().describe("Refuse what the provider wrote where PostgreSQL estimates a higher cost"),
});

/** Embedding provider of the tool server. */
export const embedding = section({
  enabled: toggle().optional().describe("Offer embeddings with this provider"),
  provider: choice(...vectorKinds).optional().describe("Kind of provider"),
  model: text().optional().describe("The provider's name for the model"),
  voyage_api_key: apiKey().optional().describe("Voyage's key; a file is safer"),
  voyage_api_key_file: filePath().optional().describe("File that holds Voyage's key"),
  voyage_base_url: webAddress().optional().describe("Gateway in place of Voyage's own address"),
  openai_api_key: apiKey().optional().describe("OpenAI's key; a file is safer"),
  openai_api_key_file: filePath().optional().describe("File that holds OpenAI's key"),
  openai_base_url: webAddress().optional().describe(
    "Gateway or local server in place of OpenAI's own address",
  ),
  gemini_api_key: apiKey().optional().describe("Gemini's key; a file is safer"),
  gemini_api_key_file: filePath().optional().describe("File that holds Gemini's key"),
  gemini_base_url: webAddress().optional().describe("Gateway in place of Gemini's own address"),
  ollama_url: webAddress().optional().describe("Address of Ollama"),
  per_attempt_timeout: timeout().optional().describe("Longest wait for one attempt; 0: no limit"),
});
