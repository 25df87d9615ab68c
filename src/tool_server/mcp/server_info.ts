import type { ToolDescription } from "../../core/tool.ts";

/** How the server names itself to MCP clients. */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** What an MCP client is told at the start, for its model: of the tools, those that it may call. */
export function instructionsFor(tools: readonly ToolDescription[]): string {
  const steps = Object.entries(stepWith).filter(([tool]) => tools.some(({ name }) => name === tool));
  const words = steps.map(([tool, purpose], index) =>
    `${index === steps.length - 1 && index > 0 ? "then " : ""}${tool} ${purpose}`
  );
  const how = words.length === 0 ? "" : ` Call ${words.join(", ")}.`;
  return `Read-only access to PostgreSQL databases.${how} Nothing can be written.`;
}

const stepWith = {
  list_databases: "to see which you may use",
  get_schema_info: "for their tables and columns",
  query_database: "with SQL or a request in words",
} as const;
