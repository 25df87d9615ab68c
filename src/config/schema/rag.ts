import { completionKinds, embeddingKinds, type KeyVendor } from "../../llm/provider_kinds.ts";
import { queryLimits } from "../../rag_server/query_limits.ts";
import { auth } from "./auth.ts";
import { clientIp, tlsFiles } from "./http.ts";
import { contextTokens, onnxEmbedding } from "./llm.ts";
import {
  address,
  choice,
  filePath,
  headerMap,
  hostName,
  integer,
  list,
  resourceUrl,
  section,
  temperature,
  text,
  timeout,
  toggle,
  webAddress,
} from "./field_types.ts";

/** The RAG server's listener. */
export const server = section({
  address: address().prefault("0.0.0.0:8080").describe("Address to listen on; port 0: any free port"),
  allowed_hosts: list(hostName()).prefault([]).describe(
    "Names that a request's Host may have, besides the server's own; list a proxy's name if the proxy keeps Host",
  ),
  request_timeout: timeout().prefault("120s").describe("How long a query may take"),
  resource_url: resourceUrl().optional().describe(
    "What clients call, such as https://rag.example.com/v1; without it, what a request names",
  ),
  max_queries: integer(1, 1_000_000).prefault(100).describe("Queries that a pipeline answers at once"),
  openai_api: section({
    enabled: toggle().prefault(false).describe("Let clients of OpenAI's API ask pipelines, as models"),
  }).prefault({}),
  tls: section(tlsFiles).prefault({}),
  auth: auth({ enabled: false }).prefault({}),
  client_ip: clientIp.prefault({}),
  cors: section({
    enabled: toggle().prefault(false).describe("Let web pages of other origins call the server (CORS)"),
    allowed_origins: list(text()).prefault([]).describe('Those origins; "*" allows all'),
  }).prefault({}),
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
