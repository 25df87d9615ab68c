/** The kinds of built-in resources, by the names that `builtins.resources` switches them off with. */
export const builtinResources = ["system_info", "databases", "schema", "table", "document", "view"] as const;
