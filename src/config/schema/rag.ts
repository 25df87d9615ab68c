import {
  choice,
  filePath,
  host,
  integer,
  list,
  port,
  section,
  text,
  textMap,
  timeout,
  toggle,
  webAddress,
} from "../field_types.ts";

/** The RAG server's listener. */
export const server = section({
  listen_address: host().optional().describe("Address of the interface to listen on"),
  port: port().optional().describe("Port to listen on"),
  request_timeout: timeout().optional().describe("Longest run of one query"),
  tls: section({
    enabled: toggle().optional().describe("Serve HTTPS"),
    cert_file: filePath().optional().describe("Certificate, PEM"),
    key_file: filePath().optional().describe("Private key of the certificate, PEM"),
  }).optional(),
  cors: section({
    enabled: toggle().optional().describe("Answer browsers of other origins"),
    allowed_origins: list(text()).optional().describe('Those origins; "*" is all of them'),
  }).optional(),
});

/** Files that hold the providers' keys. */
export const apiKeys = section({
  anthropic: filePath().optional().describe("File that holds Anthropic's key"),
  openai: filePath().optional().describe("File that holds OpenAI's key"),
  voyage: filePath().optional().describe("File that holds Voyage's key"),
  gemini: filePath().optional().describe("File that holds Gemini's key"),
});

/** A provider and its model; what a pipeline leaves out it takes from `defaults`. */
export const provider = section({
  provider: choice("openai", "anthropic", "gemini", "voyage", "ollama", "local").optional()
    .describe("Kind of provider"),
  model: text().optional().describe("The provider's name for the model"),
  base_url: webAddress().optional().describe("Gateway in place of the provider's own address"),
  headers: textMap().optional().describe("HTTP headers sent to the provider"),
  request_timeout: timeout().optional().describe("Longest wait for an answer, attempts together"),
  per_attempt_timeout: timeout().optional().describe("Longest wait for one attempt"),
});

export const tokenBudget = () => integer(1).optional().describe("Tokens of context in a prompt");
export const topN = () => integer(1, 100).optional().describe("Documents that a question retrieves");

/** What pipelines have in common. */
export const defaults = section({
  token_budget: tokenBudget(),
  top_n: topN(),
  embedding_llm: provider.optional(),
  rag_llm: provider.optional(),
  api_keys: apiKeys.optional(),
  llm_headers: textMap().optional().describe("HTTP headers sent to every provider"),
});
