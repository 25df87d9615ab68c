/** The tools that models are shown. */
const modelTools = [
  "query_database",
  "get_schema_info",
  "count_rows",
  "execute_explain",
  "similarity_search",
  "search",
  "fetch",
  "ask_pipeline",
  "search_knowledgebase",
  "generate_embedding",
  "list_databases",
  "select_database",
  "read_resource",
  "find_tools",
  "forget",
  "usage",
] as const;

/** What looks after databases: off until the configuration names them. */
export const toolsOffByDefault = ["analyze_health", "top_queries", "recommend_indexes"] as const;

/** How clients log in and out: no model sees them. */
export const accountTools = ["authenticate_user", "logout"] as const;

/**
 * Names by which clients of pgEdge's server know two of the tools: each answers like the tool it stands for, and no list
 * has it.
 */
export const connectionTools = {
  list_database_connections: "list_databases",
  select_database_connection: "select_database",
} as const;

/** pgEdge's switch for listing and selecting databases: it stands for each of them that has no switch of its own. */
export const connectionSwitch = "llm_connection_selection";

/** Every tool there is. */
export const builtinTools = [
  ...modelTools,
  ...toolsOffByDefault,
  ...accountTools,
  "list_database_connections",
  "select_database_connection",
] as const;

export type BuiltinTool = (typeof builtinTools)[number];

/** The built-in prompts. */
export const builtinPrompts = [
  "explore-database",
  "setup-semantic-search",
  "diagnose-query-issue",
  "design-schema",
] as const;

/** The kinds of built-in resources, by the names that `builtins.resources` switches them off with. */
export const builtinResources = ["system_info", "databases", "schema", "table", "document", "view"] as const;
