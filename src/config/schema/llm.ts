import { z } from "zod";
import { choice, filePath, integer, section, text, timeout, toggle, webAddress } from "../field_types.ts";

/** Completion provider of the tool server. */
export const llm = section({
  enabled: toggle().optional().describe("Answer requests in natural language with this provider"),
  provider: choice("anthropic", "openai", "gemini", "ollama", "local").optional().describe(
    "Kind of provider",
  ),
  model: text().optional().describe("The provider's name for the model"),
  anthropic_api_key: text().optional().describe("Anthropic's key; a file is safer"),
  anthropic_api_key_file: filePath().optional().describe("File that holds Anthropic's key"),
  anthropic_base_url: webAddress().optional().describe("Gateway in place of Anthropic's own address"),
  openai_api_key: text().optional().describe("OpenAI's key; a file is safer"),
  openai_api_key_file: filePath().optional().describe("File that holds OpenAI's key"),
  openai_base_url: webAddress().optional().describe(
    "Gateway or local server in place of OpenAI's own address",
  ),
  gemini_api_key: text().optional().describe("Gemini's key; a file is safer"),
  gemini_api_key_file: filePath().optional().describe("File that holds Gemini's key"),
  gemini_base_url: webAddress().optional().describe("Gateway in place of Gemini's own address"),
  ollama_url: webAddress().optional().describe("Address of Ollama"),
  max_tokens: integer(1).optional().describe("Longest answer, in tokens"),
  temperature: z.number({ error: "expected a number" }).optional().describe("Sampling temperature"),
  per_attempt_timeout: timeout().optional().describe("Longest wait for one attempt; 0: no limit"),
});

/** Embedding provider of the tool server. */
export const embedding = section({
  enabled: toggle().optional().describe("Offer embeddings with this provider"),
  provider: choice("openai", "voyage", "gemini", "ollama", "local").optional().describe("Kind of provider"),
  model: text().optional().describe("The provider's name for the model"),
  voyage_api_key: text().optional().describe("Voyage's key; a file is safer"),
  voyage_api_key_file: filePath().optional().describe("File that holds Voyage's key"),
  voyage_base_url: webAddress().optional().describe("Gateway in place of Voyage's own address"),
  openai_api_key: text().optional().describe("OpenAI's key; a file is safer"),
  openai_api_key_file: filePath().optional().describe("File that holds OpenAI's key"),
  openai_base_url: webAddress().optional().describe(
    "Gateway or local server in place of OpenAI's own address",
  ),
  gemini_api_key: text().optional().describe("Gemini's key; a file is safer"),
  gemini_api_key_file: filePath().optional().describe("File that holds Gemini's key"),
  gemini_base_url: webAddress().optional().describe("Gateway in place of Gemini's own address"),
  ollama_url: webAddress().optional().describe("Address of Ollama"),
  per_attempt_timeout: timeout().optional().describe("Longest wait for one attempt; 0: no limit"),
});

const switches = (what: string) =>
  z.record(z.string(), toggle(), { error: "expected a mapping of names to true or false" }).optional()
    .describe(`${what} by name; false switches one off`);

/** Which built-in tools, resources and prompts are offered; names are free, since the lists grow. */
export const builtins = section({
  tools: switches("Tools"),
  resources: switches("Resources"),
  prompts: switches("Prompts"),
});
