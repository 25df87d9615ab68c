import type { Tool } from "../tool.ts";
import { analyzeHealth } from "./analyze_health.ts";
import { recommendIndexes, type RecommendIndexesOptions } from "./recommend_indexes.ts";
import { topQueries } from "./top_queries.ts";

/** The tools that look after databases, which a configuration has to name. */
export function careTools(options: RecommendIndexesOptions): Tool[] {
  return [analyzeHealth(options), topQueries(options), recommendIndexes(options)];
}
