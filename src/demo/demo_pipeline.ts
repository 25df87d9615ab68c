import type { PipelineConfig } from "../config/mod.ts";

const local = {
  provider: "local",
  model: "",
  headers: [],
  request_timeout: 120_000,
  per_attempt_timeout: 0,
} as const;

/** Answers from the shop's handbook, without a key or a network. Its database is the demo's own. */
export const demoPipeline: PipelineConfig = {
  name: "handbook",
  description: "The handbook of the sample shop: leave, expenses, shipping, returns and more",
  database: { database: "shop", hosts: [] },
  tables: [{ table: "handbook_pages", text_column: "content", vector_column: "embedding", id_column: "id" }],
  embedding_llm: local,
  rag_llm: [local],
  token_budget: 4_000,
  top_n: 5,
  search: { hybrid_enabled: true, vector_weight: 0.3 },
  allow_include_sources: true,
};
