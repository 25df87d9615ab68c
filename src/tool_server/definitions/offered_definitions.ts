import type { Changes } from "../changes.ts";
import type { JsonObject } from "../content.ts";
import type { Prompt } from "../prompts/prompt.ts";
import type { Knowledge } from "../questions/prompt_knowledge.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import { createDefinedResources } from "./defined_resources.ts";
import type { ReadDefinitions } from "./read_definitions.ts";
import { sqlTool } from "./sql_tool.ts";

interface OfferedDefinitionsOptions {
  readonly directory: DatabaseDirectory;
  readonly changes: Changes;
  readonly replaceTools: ToolRegistry["replaceDefined"];
  /** Names the view that shows the rows of tools; absent where views are switched off. */
  readonly view?: JsonObject | undefined;
}

/** What a definitions file defines, as callers are offered it. */
export function createOfferedDefinitions(
  { directory, changes, replaceTools, view }: OfferedDefinitionsOptions,
) {
  const resources = createDefinedResources({ directory });
  let prompts: readonly Prompt[] = [];
  let knowledge: Knowledge | undefined;

  function replacePrompts(next: readonly Prompt[]): boolean {
    const before = shownText(prompts);
    prompts = next;
    return shownText(prompts) !== before;
  }

  return {
    resources: resources.source,
    prompts: () => prompts,
    /** What requests in words are answered with; undefined before any was offered. */
    knowledge: () => knowledge,
    /** Puts definitions in the place of those before, and tells of each list that is another now. */
    offer(definitions: Pick<ReadDefinitions, "tools" | "prompts" | "resources">, known?: Knowledge): void {
      knowledge = known;
      const tools = definitions.tools.map((definition) => sqlTool(definition, { directory, view }));
      if (replaceTools(tools)) changes.publish({ kind: "tools" });
      if (replacePrompts(definitions.prompts)) changes.publish({ kind: "prompts" });
      if (resources.replace(definitions.resources)) changes.publish({ kind: "resources" });
    },
  };
}

function shownText(prompts: readonly Prompt[]): string {
  return JSON.stringify(
    prompts.map(({ description, available_to_users }) => [description, available_to_users]),
  );
}
