import { z } from "@hono/zod-openapi";
import { limitNames } from "../../core/quotas/usage_counts.ts";

// What replies hold. The description is made from these schemas, and the tests hold every reply against it.

const tokens = z.int().min(0);

const count = z.int().min(0);

/** Of Unicode characters, the end excluded. */
const range = { start: count, end: count };

const metadata = z.looseObject({
  title: z.string().optional(),
  source: z.string().optional().describe("A file's path, for example"),
  url: z.string().optional(),
  heading: z.string().optional().openapi({
    description: "The headings above it",
    example: "Leave > Parents",
  }),
  position: z.int().optional().describe("Of the chunk in its source, from 0"),
  page: z.int().optional(),
  char_start: count.optional().describe("Where the chunk begins in the text that was read of its source"),
  char_end: count.optional().describe("Excluded"),
  previous: z.string().optional().describe("The id of the chunk before it in its source"),
  next: z.string().optional().describe("The id of the chunk after it in its source"),
  characters: z.object(range).describe("The part of the row's text that `content` is"),
}).openapi("SourceMetadata", { description: "What the table says of it; metadata_columns adds to this" });

const source = z.object({
  id: z.string().optional().openapi({
    description: "Left out where the table has no column for it",
    example: "42",
  }),
  content: z.string().openapi({ example: "Backups are configured in …" }),
  score: z.number().openapi({
    description: "Higher is better; from 0 to 1, or as the reranker has it; compare within one reply only",
    example: 0.83,
  }),
  copies: z.int().min(1).optional().describe("Others that say nearly the same, and were left out for it"),
  metadata,
}).openapi("Source");

const rank = z.int().min(1).describe("From 1; equal scores have the same");
const similarity = z.number().optional().openapi({ description: "Cosine to the question", example: 0.62 });
const wordScore = z.number().describe("Higher is better; compare within one reply only");
const ifFound = { description: "Left out where this search did not find it" };

const passage = z.object({
  ...source.shape,
  table: z.string().describe("As the configuration names it"),
  vector: z.object({ rank, similarity }).optional().openapi(ifFound),
  keyword: z.object({ rank, score: wordScore }).optional().openapi(ifFound),
}).openapi("Passage");

const searchQuery = z.string().optional().openapi({
  description:
    "What was searched for, where the conversation made another question of the one that was asked",
  example: "How do I configure backups on Windows?",
});

export const searchReply = z.object({
  search_query: searchQuery,
  passages: z.array(passage).describe("The best first"),
  tokens_used: tokens.describe("Of embedding and reranking"),
}).openapi("SearchResponse");

const citation = z.object({
  ...range,
  cited: z.boolean().describe("Whether it names a source that the model was shown"),
  sources: z.array(z.int().min(1)).describe("Those that it names: 2 is the second of `sources`"),
  unknown: z.array(count).optional().describe("Numbers that it names and no source has"),
  verified: z.boolean().describe("Whether they have its numbers, dates, names and half of its words"),
}).openapi("Citation", { description: "A sentence of the answer that claims or cites something" });

const citations = z.array(citation).optional().describe("In order; comes with `sources`");

const answered = z.literal(false).optional().describe(
  "false where no document was near enough, and no model was asked; else left out",
);

const truncated = z.literal(true).optional().describe(
  "true where the answer reached the longest that its model may write, and ends there; else left out",
);

const sources = z.array(source).optional().describe(
  "The documents that the answer was made from, where they were asked for and the pipeline permits it",
);

export const queryReply = z.object({
  answer: z.string().openapi({ example: "Set archive_mode and …" }),
  search_query: searchQuery,
  answered,
  truncated,
  sources,
  citations,
  tokens_used: tokens.openapi({ description: "Of all providers together", example: 1523 }),
}).openapi("QueryResponse");

const chunkEvent = z.object({
  type: z.literal("chunk"),
  content: z.string().describe("The next part of the answer"),
}).openapi("ChunkEvent");

const doneEvent = z.object({
  type: z.literal("done"),
  answered,
  truncated,
  search_query: searchQuery,
  sources,
  citations,
  tokens_used: tokens.optional(),
}).openapi("DoneEvent", {
  description: "The last event of an answer; with `tokens_used` where sources were asked for and permitted",
});

const errorEvent = z.object({
  type: z.literal("error"),
  error: z.string().openapi({
    description: "One of ten fixed phrases",
    example: "the provider returned an error",
  }),
}).openapi("ErrorEvent", { description: "The last event of an answer that failed" });

export const streamEvent = z.discriminatedUnion("type", [chunkEvent, doneEvent, errorEvent]).openapi(
  "StreamEvent",
);

export const liveReply = z.object({ status: z.literal("ok") }).openapi("LiveResponse");

export const readyReply = z.object({
  status: z.enum(["ready", "degraded", "unavailable"]).describe(
    "degraded: the database of a pipeline is unreachable; unavailable: those of all are",
  ),
}).openapi("ReadyResponse");

const reachability = z.object({
  reachable: z.boolean(),
  error: z.string().optional().describe(
    "Only where it is unreachable, or the pipeline answers no question all the same; one of ten fixed phrases",
  ),
}).openapi("Reachability");

const indexKind = z.union([z.string(), z.literal(false)]).openapi({
  description:
    "Of words: postern, tsvector, or an extension's; of vectors: its method, such as hnsw; false: none",
}, { unionPreferredType: "oneOf" });

const tableHealth = z.object({
  name: z.string().openapi({ description: "As the configuration names it", example: "documents" }),
  rows: z.int().min(1).optional().describe("An estimate; left out where nothing is known"),
  keyword_index: indexKind,
  vector_index: indexKind,
  ingested_at: z.string().optional().describe("Of its latest file; left out if not known"),
}).openapi("TableHealth", { description: "As of the last look at the table, which is a minute old at most" });

const pipelineHealth = z.object({
  name: z.string(),
  embedding: reachability,
  completion: reachability,
  database: reachability,
  embedding_queue: z.object({
    waiting: z.int().min(0).describe("Rows that wait for an embedding"),
    oldest_seconds: z.number().min(0).describe("For how long the oldest of them has waited"),
    set_aside: z.int().min(0).describe("Rows that the provider refused"),
  }).optional().describe("Left out where the pipeline's tables are not watched"),
  tables: z.array(tableHealth).optional().describe(
    "Left out where they cannot be read, or the pipeline reads them as its callers",
  ),
}).openapi("PipelineHealth");

const pipelinesHealth = z.array(pipelineHealth);

const generations = z.record(z.string(), z.string()).optional().openapi({
  description:
    "What tells the settings and credential files that this server runs with from those of others that share its state",
  example: { configuration: "5d41402abc4b", tokens: "7d793037a076" },
});

const healthStatus = z.enum(["healthy", "degraded"]).describe(
  "degraded: a provider or a database is unreachable, row-level security does not hold every caller, or vectors are of another model than embedding_llm",
);

export const healthReply = z.object({ status: healthStatus, pipelines: pipelinesHealth, generations })
  .openapi(
    "HealthResponse",
  );

/** Of a server that asks who is calling. */
export const partialHealthReply = z.object({
  status: healthStatus,
  pipelines: pipelinesHealth.optional().describe(
    "Those that the caller may use; left out for a caller without a valid token",
  ),
  generations,
}).openapi("HealthResponse");

export const pipelinesReply = z.object({
  pipelines: z.array(
    z.object({
      name: z.string().openapi({ example: "handbook" }),
      description: z.string(),
      examples: z.array(z.string()).optional().openapi({ description: "Questions to begin with" }),
    }).openapi("Pipeline"),
  ),
}).openapi("PipelinesResponse");

const cacheTokens = z.int().min(1).optional().describe("Left out where it is 0");

const usage = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  cache_creation_input_tokens: cacheTokens,
  cache_read_input_tokens: cacheTokens,
}).openapi("Usage", { description: "Since the process began" });

export const usageReply = z.object({
  limits: z.array(z.object({
    limit: z.enum(limitNames),
    maximum: z.int().min(0),
    used: z.int().min(0),
    remaining: z.int().min(0),
    resets_at: z.string().optional().openapi({
      description: "When it is counted anew; absent for calls at once",
      example: "2026-03-01T00:00:00.000Z",
    }),
  })).describe("Those of the caller alone"),
  shared: z.array(z.object({
    limit: z.enum(limitNames),
    maximum: z.int().min(0),
    resets_at: z.string().optional(),
  })).describe("Those of all callers together; what others have used of them is not told"),
}).openapi("UsageReply");

export type UsageReply = z.output<typeof usageReply>;

export const statsReply = z.object({
  pipelines: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      embedding: usage,
      completion: usage,
      rerank: usage.optional(),
    }).openapi("PipelineStats"),
  ),
}).openapi("StatsResponse");

export type SearchReply = z.output<typeof searchReply>;
export type QueryReply = z.output<typeof queryReply>;
export type StreamEvent = z.output<typeof streamEvent>;
export type LiveReply = z.output<typeof liveReply>;
export type ReadyReply = z.output<typeof readyReply>;
export type HealthReply = z.output<typeof partialHealthReply>;
export type PipelineHealth = Readonly<z.output<typeof pipelineHealth>>;
export type PipelinesReply = z.output<typeof pipelinesReply>;
export type StatsReply = z.output<typeof statsReply>;
