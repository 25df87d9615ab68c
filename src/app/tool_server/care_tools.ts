import type { Tool } from "../../tool_server/tools/tool.ts";
import {
  recommendIndexes,
  type RecommendIndexesOptions,
} from "../../tool_server/tools/database_care/recommend_indexes.ts";
import { topQueries } from "../../tool_server/tools/database_care/top_queries.ts";
import { analyzeHealth } from "../../tool_server/tools/database_care/analyze_health.ts";

/** The tools that look after databases, which a configuration has to name. */
export function careTools(options: RecommendIndexesOptions): Tool[] {
  return [analyzeHealth(options), topQueries(options), recommendIndexes(options)];
}
