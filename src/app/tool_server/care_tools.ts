import type { Tool } from "../../tool_server/tools/tool.ts";
import { analyzeHealth } from "../../tool_server/tools/care/analyze_health.ts";
import {
  recommendIndexes,
  type RecommendIndexesOptions,
} from "../../tool_server/tools/care/recommend_indexes.ts";
import { topQueries } from "../../tool_server/tools/care/top_queries.ts";

/** The tools that look after databases, which a configuration has to name. */
export function careTools(options: RecommendIndexesOptions): Tool[] {
  return [analyzeHealth(options), topQueries(options), recommendIndexes(options)];
}
