import type { Principal } from "../../core/principal.ts";

interface Named {
  readonly name: string;
}

/**
 * What an MCP client is told at the start, for its model (MCP, Lifecycle): what there is, and which tool is for what; of
 * tools and prompts, those that the caller may use. Where there are several databases, a call that names its own does not
 * depend on what another conversation of the same user has selected.
 */
export function instructionsFor(
  { registry, prompts, databaseChoice }: {
    readonly registry: { listTools(principal: Principal): readonly Named[] };
    readonly prompts: { list(principal: Principal): readonly Named[] };
    /** Optional: none where there is nothing to choose from. */
    readonly databaseChoice?: { count(principal: Principal): number } | undefined;
  },
  principal: Principal,
): string {
  const tools = new Set(registry.listTools(principal).map(({ name }) => name));
  const steps = Object.entries(stepWith).filter(([tool]) => tools.has(tool))
    .map(([tool, purpose]) => `${tool} ${purpose}`);
  const hasDocuments = documentTools.some((tool) => tools.has(tool));
  const databases = databaseChoice?.count(principal) ?? 1;
  return [
    `Read-only access to ${hasDocuments ? "documents and " : ""}PostgreSQL databases.`,
    ...(steps.length === 0 ? [] : [`Call ${inOrder(steps)}.`]),
    ...(steps.length > 0 && databases > 1 ? ["Name `database` in each call."] : []),
    ...besides(tools),
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

const others = [
  { tools: ["search", "fetch", "ask_pipeline"], purpose: "for documents" },
  { tools: ["search_knowledgebase"], purpose: "for how things work" },
  { tools: ["similarity_search"], purpose: "for rows by their meaning" },
  { tools: ["analyze_health", "top_queries", "recommend_indexes"], purpose: "for a slow or ailing database" },
  { tools: ["read_resource"], purpose: "for resources" },
];

function besides(offered: ReadonlySet<string>): string[] {
  const parts = others.flatMap(({ tools, purpose }) => {
    const here = tools.filter((tool) => offered.has(tool));
    return here.length === 0 ? [] : [`${here.join(", ")} ${purpose}`];
  });
  return parts.length === 0 ? [] : [`Besides: ${parts.join("; ")}.`];
}

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
