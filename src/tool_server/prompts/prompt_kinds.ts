/** The built-in prompts. */
export const builtinPrompts = [
  "explore-database",
  "setup-semantic-search",
  "diagnose-query-issue",
  "design-schema",
] as const;
