import type { DatabaseDirectory } from "../database_directory.ts";
import type { Tool } from "../tool.ts";
import { analyzeHealth } from "./analyze_health.ts";
import { topQueries } from "./top_queries.ts";

/** The tools that look after databases, which a configuration has to name. */
export function careTools(options: { readonly directory: DatabaseDirectory }): Tool[] {
  return [analyzeHealth(options), topQueries(options)];
}
