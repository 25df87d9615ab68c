/** The tools that models are shown. */
const modelTools = [
  "query_database",
  "get_schema_info",
  "count_rows",
  "execute_explain",
  "list_databases",
  "select_database",
  "forget",
] as const;

/** How clients log in and out: no model sees them. */
export const accountTools = ["authenticate_user", "logout"] as const;

/** Every tool there is. */
export const builtinTools = [...modelTools, ...accountTools] as const;

export type BuiltinTool = (typeof builtinTools)[number];
