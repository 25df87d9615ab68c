import { z } from "zod";
import { rerankKinds } from "../../llm/provider_kinds.ts";
import { targetSessionAttrs } from "../../postgres/connect/session_kinds.ts";
import { sslModes } from "../../postgres/connect/ssl_kinds.ts";
import { logics, operators } from "../../rag_server/filter/filter_kinds.ts";
import {
  choice,
  filePath,
  fraction,
  headerMap,
  host,
  integer,
  list,
  port,
  section,
  text,
  timeout,
  toggle,
  webAddress,
} from "./field_types.ts";
import { hostEntry } from "./databases.ts";
import { apiKeys, completionProvider, embeddingProvider, tokenBudget, topN } from "./rag.ts";

const pipelineDatabase = section({
  host: host().optional().describe("Host name, address, or folder of a Unix socket"),
  port: port().optional().describe("Port"),
  hosts: list(hostEntry).min(1, { error: "expected at least one host" }).optional().describe(
    "Several servers, tried in order, in place of host and port",
  ),
  target_session_attrs: choice(...targetSessionAttrs).optional().describe("Which of the servers will do"),
  database: text().describe("Database on the server"),
  user: text().optional().describe("Role to connect as"),
  password: text().optional().describe("Password"),
  password_file: filePath().optional().describe(
    "File that holds the password, read anew for each connection",
  ),
  sslmode: choice(...sslModes).optional().describe("TLS to the server, as in libpq"),
  sslcert: filePath().optional().describe("Client certificate, PEM"),
  sslkey: filePath().optional().describe("Private key of the client certificate, PEM"),
  sslrootcert: filePath().optional().describe(
    "Authorities that the server's certificate is checked against, PEM",
  ),
});

const condition = section({
  column: text(),
  operator: choice(...operators),
  value: z.unknown().optional(),
});

const filter = z.union([
  z.string(),
  section({ conditions: list(condition).min(1), logic: choice(...logics).optional() }),
], { error: "expected SQL text, or conditions and perhaps logic" });

const table = section({
  table: text().describe("Table or view"),
  text_column: text().describe("Column of the documents' text"),
  vector_column: text().describe("Column of their embeddings"),
  id_column: text().optional().describe("Column that identifies a document; a view needs one"),
  text_search_config: text().optional().describe(
    "PostgreSQL text search configuration of the text, or the column that holds each row's",
  ),
  filter: filter.optional().describe("Which rows take part: SQL text, or conditions"),
});

const search = section({
  hybrid_enabled: toggle().optional().describe("Search by keyword as well as by vector"),
  vector_weight: fraction().optional().describe("Weight of the vector arm against the keyword arm"),
  min_similarity: fraction().optional().describe("Least similarity of a document"),
});

const rerank = section({
  provider: choice(...rerankKinds).optional().describe(
    "Kind of provider; without one there is no reranking",
  ),
  model: text().optional().describe("The provider's name for the model"),
  top_k: integer(0).optional().describe("Documents that are kept; 0: as many as top_n"),
  base_url: webAddress().optional().describe("Gateway in place of the provider's own address"),
  api_key_file: filePath().optional().describe("File that holds its key, in place of the one in api_keys"),
  headers: headerMap().optional().describe("HTTP headers sent to the provider"),
  request_timeout: timeout().optional().describe("Longest wait for an answer, attempts together"),
  per_attempt_timeout: timeout().optional().describe("Longest wait for one attempt"),
});

const pipeline = section({
  name: text().describe("Name in the query's path"),
  description: text().optional().describe("What it answers, for people"),
  database: pipelineDatabase,
  tables: list(table).min(1, { error: "expected at least one table" }).describe("Where the documents are"),
  embedding_llm: embeddingProvider.optional(),
  rag_llm: completionProvider.optional(),
  api_keys: apiKeys.optional(),
  llm_headers: headerMap().optional().describe("HTTP headers sent to the pipeline's providers"),
  token_budget: tokenBudget(),
  top_n: topN(),
  system_prompt: text().optional().describe("Persona and style of the answers"),
  search: search.optional(),
  rerank: rerank.optional(),
  allow_include_sources: toggle().optional().describe("Let clients ask for the documents behind an answer"),
});

/** What the RAG server answers from. */
export const pipelines = z.array(pipeline, { error: "expected a list" });
