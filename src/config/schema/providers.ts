import { z } from "zod";
import {
  type CompletionKind,
  completionKinds,
  type EmbeddingKind,
  embeddingKinds,
  type KeyVendor,
  poolings,
} from "../../llm/provider_kinds.ts";
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
import { queryLimits } from "../../rag_server/query_limits.ts";

const contextTokens = () =>
  integer(1024).optional().describe(
    "Ollama's context window, in tokens; without it, as large as the prompts need",
  );

/** Those that are asked over the network, in the order in which faults name them. */
const remoteKinds = ["anthropic", "openai", "gemini", "ollama"] as const satisfies readonly CompletionKind[];
const vectorKinds = [
  "openai",
  "voyage",
  "gemini",
  "ollama",
  "onnx",
  "local",
] as const satisfies readonly EmbeddingKind[];

/** A model of this machine that makes embeddings: what the folder's files do not say. */
const onnxEmbedding = {
  model_path: filePath().optional().describe(
    "Folder of a model for onnx, or its file .onnx where it has several",
  ),
  pooling: choice(...poolings).optional().describe(
    "How onnx makes one vector of a text's; without it, as the folder's files say",
  ),
  query_prefix: text().optional().describe(
    'Text that onnx puts before questions, such as "query: " for models of E5; without it, as the files say',
  ),
  passage_prefix: text().optional().describe('Text that onnx puts before documents, such as "passage: "'),
};

/** A provider that takes over where those before it fail. */
const fallback = section({
  provider: choice(...remoteKinds),
  model: text().describe("Name of the model at the provider"),
  base_url: webAddress().optional().describe("Address of a gateway, instead of the provider's own"),
  api_key: apiKey().optional().describe("The provider's key; a file is safer"),
  api_key_file: filePath().optional().describe(
    "File that holds the provider's key; without it, the key of its kind, unless base_url names another address",
  ),
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  context_tokens: contextTokens(),
});

/** Vendors of completions and of embeddings. */
const vendorsOfBoth = {
  openai_api_key: apiKey().optional().describe("OpenAI's key; a file is safer"),
  openai_api_key_file: filePath().optional().describe("File that holds OpenAI's key"),
  openai_base_url: webAddress().optional().describe(
    "Address of a gateway or local server, instead of OpenAI's own",
  ),
  gemini_api_key: apiKey().optional().describe("Gemini's key; a file is safer"),
  gemini_api_key_file: filePath().optional().describe("File that holds Gemini's key"),
  gemini_base_url: webAddress().optional().describe("Address of a gateway, instead of Gemini's own"),
  ollama_url: webAddress().optional().describe(
    "Address of Ollama; without it OLLAMA_HOST, then http://localhost:11434",
  ),
};

/** Completion provider of the tool server. */
export const llm = section({
  enabled: toggle().prefault(true).describe("Answer requests in natural language, if a provider is set"),
  provider: z.enum(remoteKinds, {
    error: ({ input }) =>
      input === "local"
        ? "local writes no SQL: name a provider with a model (ollama runs on your machine), or leave llm out and " +
          "write verified questions, which need no model (custom_definitions_path)"
        : `expected one of ${remoteKinds.join(", ")}`,
  }).optional().describe("Kind of provider"),
  model: text().optional().describe("Name of the model at the provider"),
  anthropic_api_key: apiKey().optional().describe("Anthropic's key; a file is safer"),
  anthropic_api_key_file: filePath().optional().describe("File that holds Anthropic's key"),
  anthropic_base_url: webAddress().optional().describe("Address of a gateway, instead of Anthropic's own"),
  ...vendorsOfBoth,
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  fallback: list(fallback).optional().describe(
    "Further providers, in order: Postern asks each one if those before it fail",
  ),
  max_tokens: integer(1).optional().describe(
    "Longest answer in tokens, the model's thinking included; without it, 16000 for models that think, else 4096",
  ),
  context_tokens: contextTokens(),
  temperature: temperature().optional().describe(
    "Sampling temperature; not sent unless set, because some models refuse it",
  ),
  request_timeout: timeout().prefault("55s").describe(
    "How long to wait for an answer, all providers and attempts together; 0: no limit",
  ),
  per_attempt_timeout: timeout().prefault("55s").describe("How long to wait for one attempt; 0: no limit"),
  schema_token_budget: integer(500, 1_000_000).prefault(8000).describe(
    "Most tokens in a prompt that describe tables",
  ),
  sample_values: toggle().prefault(false).describe(
    "Show the provider the values of columns that have few, so that it writes them as stored",
  ),
  excluded_columns: list(columnPattern()).prefault([]).describe(
    "Columns whose values the provider never sees: column, table.column or schema.table.column; * is any text. Statements still read them",
  ),
  max_plan_cost: z.number({ error: "expected a number above 0" }).positive({
    error: "expected a number above 0",
  })
    .optional().describe("Refuse a statement of the provider if PostgreSQL estimates a higher cost"),
});

/** Embedding provider of the tool server. */
export const embedding = section({
  enabled: toggle().optional().describe(
    "Offer similarity_search and generate_embedding, if a provider is set; without it, true",
  ),
  provider: choice(...vectorKinds).optional().describe("Kind of provider"),
  model: text().optional().describe("Name of the model at the provider"),
  voyage_api_key: apiKey().optional().describe("Voyage's key; a file is safer"),
  voyage_api_key_file: filePath().optional().describe("File that holds Voyage's key"),
  voyage_base_url: webAddress().optional().describe("Address of a gateway, instead of Voyage's own"),
  ...vendorsOfBoth,
  ...onnxEmbedding,
  per_attempt_timeout: timeout().optional().describe("How long to wait for one attempt; 0: no limit"),
});

/** Files that hold the providers' keys. */
export const apiKeys = section(
  {
    anthropic: filePath().optional().describe("File that holds Anthropic's key"),
    openai: filePath().optional().describe("File that holds OpenAI's key"),
    voyage: filePath().optional().describe("File that holds Voyage's key"),
    gemini: filePath().optional().describe("File that holds Gemini's key"),
    cohere: filePath().optional().describe("File that holds Cohere's key"),
  } satisfies Record<KeyVendor, unknown>,
);

export const providerConnection = {
  model: text().optional().describe("Name of the model at the provider"),
  base_url: webAddress().optional().describe("Address of a gateway, instead of the provider's own"),
  api_key_file: filePath().optional().describe(
    "File that holds the provider's key, instead of the one in api_keys",
  ),
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  request_timeout: timeout().optional().describe("How long to wait for an answer, all attempts together"),
  per_attempt_timeout: timeout().optional().describe(
    "How long to wait for one attempt; without it, no limit",
  ),
};

/** The provider of embeddings; what a pipeline leaves out it takes from `defaults`. */
export const embeddingProvider = section({
  provider: choice(...embeddingKinds).optional().describe("Kind of provider"),
  ...providerConnection,
  ...onnxEmbedding,
});

/** The provider of answers; what a pipeline leaves out it takes from `defaults`. */
export const completionProvider = section({
  provider: choice(...completionKinds).optional().describe("Kind of provider"),
  ...providerConnection,
  max_tokens: integer(1).optional().describe("Longest answer in tokens, the model's thinking included"),
  context_tokens: contextTokens(),
  temperature: temperature().optional().describe(
    "Sampling temperature; not sent unless set",
  ),
  fallback: list(section({
    provider: choice(...completionKinds),
    ...providerConnection,
    context_tokens: contextTokens(),
  })).optional().describe("Further providers, in order: Postern asks each one if those before it fail"),
});

export const tokenBudget = () =>
  integer(0).optional().describe("Most tokens of context in a prompt; 0: as in defaults, else 4000");
export const topN = () =>
  integer(0, queryLimits.topN).optional().describe(
    "Documents to retrieve for a question; 0: as in defaults, else 10",
  );

/** What pipelines have in common. */
export const defaults = section({
  token_budget: tokenBudget(),
  top_n: topN(),
  embedding_llm: embeddingProvider.optional(),
  rag_llm: completionProvider.optional(),
  api_keys: apiKeys.optional(),
  llm_headers: headerMap().optional().describe("HTTP headers sent to every provider"),
});
