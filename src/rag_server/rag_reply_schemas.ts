import { z } from "@hono/zod-openapi";

/** What replies hold; the description of the API is made from these, and the tests hold every reply against it. */

const tokens = z.int().min(0);

const source = z.object({
  id: z.string().optional().openapi({
    description: "Left out where the table has no column for it",
    example: "42",
  }),
  content: z.string().openapi({ example: "Backups are configured in …" }),
  score: z.number().openapi({
    description: "Higher is better; compare within one reply only",
    example: 0.031,
  }),
}).openapi("Source");

const sources = z.array(source).optional().openapi({
  description:
    "The documents that the answer was made from, where they were asked for and the pipeline permits it",
});

export const queryReply = z.object({
  answer: z.string().openapi({ example: "Set archive_mode and …" }),
  sources,
  tokens_used: tokens.openapi({ description: "Of all providers together", example: 1523 }),
}).openapi("QueryResponse");

const chunkEvent = z.object({
  type: z.literal("chunk"),
  content: z.string().openapi({ description: "The next part of the answer" }),
}).openapi("ChunkEvent");

const doneEvent = z.object({ type: z.literal("done"), sources, tokens_used: tokens.optional() }).openapi(
  "DoneEvent",
  {
    description: "The last event of an answer; with `tokens_used` where sources were asked for and permitted",
  },
);

const errorEvent = z.object({
  type: z.literal("error"),
  error: z.string().openapi({
    description: "One of eight fixed phrases",
    example: "the provider returned an error",
  }),
}).openapi("ErrorEvent", { description: "The last event of an answer that failed" });

export const streamEvent = z.discriminatedUnion("type", [chunkEvent, doneEvent, errorEvent]).openapi(
  "StreamEvent",
);

export const liveReply = z.object({ status: z.literal("ok") }).openapi("LiveResponse");

const reachability = z.object({
  reachable: z.boolean(),
  error: z.string().optional().openapi({
    description: "Only where it is unreachable; one of eight fixed phrases",
  }),
}).openapi("ProviderHealth");

export const healthReply = z.object({
  status: z.enum(["healthy", "degraded"]).openapi({ description: "degraded: a provider is unreachable" }),
  pipelines: z.array(
    z.object({ name: z.string(), embedding: reachability, completion: reachability }).openapi(
      "PipelineHealth",
    ),
  ),
}).openapi("HealthResponse");

export const pipelinesReply = z.object({
  pipelines: z.array(
    z.object({ name: z.string().openapi({ example: "handbook" }), description: z.string() }).openapi(
      "Pipeline",
    ),
  ),
}).openapi("PipelinesResponse");

const cacheTokens = z.int().min(1).optional().openapi({ description: "Left out where it is 0" });

const usage = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  cache_creation_input_tokens: cacheTokens,
  cache_read_input_tokens: cacheTokens,
}).openapi("Usage", { description: "Since the process began" });

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

export const errorReply = z.object({
  error: z.object({
    code: z.enum([
      "INVALID_REQUEST",
      "FORBIDDEN",
      "NOT_FOUND",
      "PIPELINE_NOT_FOUND",
      "METHOD_NOT_ALLOWED",
      "REQUEST_TOO_LARGE",
      "EXECUTION_ERROR",
      "INTERNAL_ERROR",
      "REQUEST_TIMEOUT",
    ]),
    message: z.string(),
  }),
}).openapi("ErrorResponse");

export type QueryReply = z.output<typeof queryReply>;
export type StreamEvent = z.output<typeof streamEvent>;
export type LiveReply = z.output<typeof liveReply>;
export type HealthReply = z.output<typeof healthReply>;
export type PipelinesReply = z.output<typeof pipelinesReply>;
export type StatsReply = z.output<typeof statsReply>;
export type ErrorReply = z.output<typeof errorReply>;
export type RagErrorCode = ErrorReply["error"]["code"];
