import type { Principal } from "../../core/principal.ts";

interface Offered {
  readonly registry: { listTools(principal: Principal): readonly Named[] };
  readonly prompts: { list(principal: Principal): readonly Named[] };
  /** Absent where there is nothing to choose from. */
  readonly databaseChoice?: { count(principal: Principal): number } | undefined;
}

interface Named {
  readonly name: string;
}

/**
 * What an MCP client is told at the start, for its model (MCP, Lifecycle): what there is, and which tool is for what; of
 * tools and prompts, those that the caller may use. Where there are several databases, a call that names its own does not
 * depend on what another conversation of the same user has selected.
 */
export function instructionsFor(
  { registry, prompts, databaseChoice }: Offered,
  principal: Principal,
): string {
  const tools = new Set(registry.listTools(principal).map(({ name }) => name));
  const offered = (purposes: Readonly<Record<string, string>>) =>
    Object.entries(purposes).filter(([tool]) => tools.has(tool)).map(([tool, purpose]) =>
      `${tool} ${purpose}`
    );
  const steps = offered(stepWith);
  const others = offered(otherwiseWith);
  const databases = databaseChoice?.count(principal) ?? 1;
  return [
    `Read-only access to ${
      documentTools.some((tool) => tools.has(tool)) ? "documents and " : ""
    }PostgreSQL databases.`,
    ...(steps.length === 0 ? [] : [`Call ${inOrder(steps)}.`]),
    ...(steps.length > 0 && databases > 1 ? ["Name `database` in each call."] : []),
    ...(others.length === 0 ? [] : [`Besides: ${others.join("; ")}.`]),
    ...promptsText(prompts.list(principal).map(({ name }) => name)),
    "Nothing can be written.",
  ].join(" ");
}

const documentTools = ["ask_pipeline", "search", "search_knowledgebase"];

const stepWith = {
  list_databases: "to see which you may use",
  get_schema_info: "for their tables and columns",
  find_tools: "for tools that are not listed",
  query_database: "with SQL or a request in words",
};

const otherwiseWith = {
  search: "and fetch for documents",
  ask_pipeline: "for an answer from documents",
  search_knowledgebase: "for how things work",
  similarity_search: "for rows by their meaning",
  analyze_health: "for the state of a database",
  top_queries: "for what costs it most",
  recommend_indexes: "for slow queries",
  read_resource: "for resources, which it lists",
};

function inOrder(steps: readonly string[]): string {
  return steps.map((step, at) => at > 0 && at === steps.length - 1 ? `then ${step}` : step).join(", ");
}

/** How many prompts are named; a definitions file may have any number. */
const namedPrompts = 4;

function promptsText(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > namedPrompts ? ` and ${names.length - namedPrompts} more` : "";
  return [`Prompts: ${names.slice(0, namedPrompts).join(", ")}${more}.`];
}
