import { z } from "zod";
import { rerankKinds } from "../../llm/provider_kinds.ts";
import { isMetadataRule } from "../../rag_server/ingest/metadata_kinds.ts";
import { logics, operators } from "../../rag_server/query_limits.ts";
import {
  callers,
  checked,
  choice,
  duration,
  filePath,
  fraction,
  headerMap,
  host,
  integer,
  keptEmpty,
  list,
  listOfSome,
  number,
  section,
  sourceName,
  text,
  timeout,
  toggle,
  webAddress,
} from "./field_types.ts";
import { certificates, database, hosts, passwords, replicaLag, rowSecurity } from "./databases.ts";
import {
  apiKeys,
  completionProvider,
  embeddingProvider,
  providerConnection,
  tokenBudget,
  topN,
} from "./providers.ts";
import { targetSessionAttrs } from "../../postgres/connect/connection_kinds.ts";

const { host: itsHost, port: itsPort, user, sslmode } = database.shape;

const pipelineDatabase = section({
  host: itsHost,
  port: itsPort,
  hosts: hosts(),
  target_session_attrs: choice(...targetSessionAttrs).optional().describe(
    "Which servers Postern accepts, as in libpq; with hosts, prefer-standby, which spreads callers over the standbys",
  ),
  max_replica_lag: replicaLag(),
  database: text().describe("Name of the database on the server"),
  user,
  password: text().optional().describe("Password"),
  ...passwords,
  sslmode,
  ...certificates,
  pool_max_conns: integer(1, 1000).prefault(10).describe(
    "Most connections of the pipeline, those with a stuck statement included",
  ),
  pooler: database.shape.pooler,
});

const condition = section({ column: text(), operator: choice(...operators), value: z.unknown().optional() });

const filter = z.union([
  z.string(),
  section({ conditions: listOfSome("condition", condition), logic: choice(...logics).optional() }),
], { error: "expected SQL text, or conditions and perhaps logic" });

const table = section({
  table: text().describe("Table or view"),
  text_column: text().describe("Column that holds the text"),
  vector_column: text().describe("Column that holds the embeddings"),
  id_column: text().optional().describe("Column that identifies a document; a view needs one"),
  text_search_config: text().optional().describe(
    "PostgreSQL's text search configuration for the text, or the column that names it for each row; without it, english",
  ),
  word_parts: toggle().optional().describe(
    "Find words by their parts in the keyword index; without it, where the language joins words",
  ),
  filter: filter.optional().describe("Which rows to search: SQL text, or conditions and logic"),
  filter_columns: keptEmpty(list(text())).optional().describe(
    "Columns that requests may filter by, as name or meta->>key; empty: none; without it, every column",
  ),
  metadata_columns: list(text()).optional().describe(
    "Columns that come with a source, besides title, source, url, heading, position and page",
  ),
});

const source = section({
  name: sourceName().optional().describe(
    "What the source is called in the table; without it, as the folder itself",
  ),
  path: filePath().optional().describe("Folder"),
  git: section({
    url: checked(
      "an address such as https://git.example.com/docs.git, without a password, or an absolute path",
      (value) => /^(?!https?:\/\/[^/]*@)(?:(?:https?|ssh|file):\/\/|[\w.]+@|\/)[^\s-]\S*$/.test(value),
    ).describe("Address of a repository, or its absolute path"),
    branch: text().optional().describe("Without it, the repository's own"),
    path: text().optional().describe("Folder in the repository"),
    username: text().optional().describe("Whose token it is; without it, git"),
    token_file: filePath().optional().describe("File with a token or password, for https"),
  }).optional().describe("Branch of a git repository"),
  s3: section({
    bucket: text().describe("Name of the bucket"),
    prefix: text().optional().describe("How the keys begin that are read"),
    endpoint: webAddress().optional().describe("Address of the server; without it, Amazon's of the region"),
    region: text().optional().describe("Without it, us-east-1"),
    path_style: toggle().optional().describe(
      "Name the bucket in the path; without it, where there is an endpoint",
    ),
    access_key_id: text().optional().describe("Without it, AWS_ACCESS_KEY_ID, if that is set"),
    secret_key_file: filePath().optional().describe("File with the secret key to access_key_id"),
  }).refine(({ access_key_id: id, secret_key_file: file }) => (id === undefined) === (file === undefined), {
    error: "expected access_key_id and secret_key_file together, or neither",
  }).optional().describe("Bucket of S3, or of a server with its interface"),
  http: section({
    sitemap: webAddress().optional().describe("Sitemap of the pages, or index of sitemaps"),
    pages: list(webAddress()).optional().describe("Pages, besides those of the sitemap"),
    delay: duration().optional().describe("Pause between two requests; without it, 1s"),
    max_pages: integer(1, 100_000).optional().describe("Most pages; without it, 1000"),
    private_hosts: list(host()).optional().describe("Hosts that may have a private address"),
  }).refine(({ sitemap, pages = [] }) => sitemap !== undefined || pages.length > 0, {
    error: "expected a sitemap or pages",
  }).optional().describe("Pages of web servers"),
}).refine((one) => placesOf(one).length === 1, {
  error: ({ input }) => {
    const places = placesOf(input as Record<string, unknown>);
    return `expected one of path, git, s3 and http${
      places.length === 0 ? "" : `, not ${places.join(" and ")}`
    }`;
  },
});

function placesOf(source: Readonly<Record<string, unknown>>): string[] {
  return ["path", "git", "s3", "http"].filter((place) => source[place] !== undefined);
}

const chunks = section({
  max_tokens: integer(40, 8_000).optional().describe(
    "Most tokens of a chunk that -ingest makes; without it, 400, or what the embedding model reads if that is less",
  ),
  overlap_tokens: integer(0, 4_000).optional().describe(
    "How much of a chunk's end the next one repeats, at most half of max_tokens; without it, 60, or 0.15 of max_tokens if that is less",
  ),
});

const metadata = z.record(
  z.string(),
  checked("a regular expression with a group, such as docs/([^/]+)/, or front_matter.KEY", isMetadataRule),
  { error: "expected a mapping of names to text" },
);

const search = section({
  hybrid_enabled: toggle().prefault(true).describe("Search by keywords too, not by vectors alone"),
  vector_weight: fraction().optional().describe(
    "Weight of the vector search against the keyword search, 0 to 1",
  ),
  bm25_k1: number(0, 10).optional().describe(
    "BM25's k1: how slowly repeats of a word stop counting; without it, 1.2",
  ),
  bm25_b: fraction().optional().describe(
    "BM25's b: how much a long text is held against its words; without it, 0.4",
  ),
  min_similarity: fraction().optional().describe("Lowest vector similarity that a document may have"),
  rewrite_follow_ups: toggle().prefault(true).describe(
    "Let rag_llm make a question that follows others one of its own, which is searched for",
  ),
  answer_threshold: fraction().optional().describe(
    "Vector similarity that the nearest document needs for a model to be asked; 0: any; without it, learned from the documents",
  ),
});

const { model, ...connection } = providerConnection;

const rerank = section({
  provider: choice(...rerankKinds).optional().describe(
    "Kind of provider; without one, no reranking",
  ),
  model,
  model_path: filePath().optional().describe("Folder of a cross-encoder for onnx, or its file .onnx"),
  top_k: integer(0).optional().describe("Most documents after reranking; 0: as many as top_n"),
  ...connection,
  per_attempt_timeout: timeout().optional().describe("How long to wait for one attempt"),
});

const pipeline = section({
  name: text().describe("Name of the pipeline in the path of a query"),
  description: text().prefault("").describe("What the pipeline answers, for people"),
  examples: list(text()).optional().describe("Questions to begin with, for people"),
  available_to_users: callers().prefault([]).describe(
    "Users who may use the pipeline, and group:NAME for groups, where server.auth is on; empty: everyone",
  ),
  database: pipelineDatabase,
  ...rowSecurity,
  tables: listOfSome("table", table).describe(
    "Tables that hold the documents",
  ),
  sources: list(source).optional().describe(
    "What -ingest reads into the first table if it is given no path: folders, repositories, buckets and web pages",
  ),
  chunks: chunks.optional(),
  metadata: metadata.optional().describe(
    "Columns of the first table that -ingest fills: by a regular expression over a file's path, whose group is the value, or front_matter.KEY",
  ),
  ocr_command: listOfSome("program", text()).optional().describe(
    "Program and arguments that -ingest reads a PDF's pages without text by: {page} is the page's number, the PDF comes on stdin, the text goes to stdout",
  ),
  embedding_llm: embeddingProvider.optional(),
  reembed: section({
    embedding_llm: embeddingProvider.describe("What it leaves out is as in the pipeline's embedding_llm"),
    vector_column: text().describe("Column of its vectors in each table; -reembed makes it"),
  }).optional().describe("A new model of embeddings, beside the one that serves: see -reembed"),
  rag_llm: completionProvider.optional(),
  api_keys: apiKeys.optional(),
  llm_headers: headerMap().optional().describe("HTTP headers sent to the pipeline's providers"),
  token_budget: tokenBudget(),
  top_n: topN(),
  system_prompt: text().optional().describe("Persona and style of the answers"),
  search: search.prefault({}),
  rerank: rerank.optional(),
  allow_include_sources: toggle().prefault(false).describe("Let clients ask which documents an answer used"),
});

/** What the RAG server answers from. */
export const pipelines = z.array(pipeline, { error: "expected a list" });
