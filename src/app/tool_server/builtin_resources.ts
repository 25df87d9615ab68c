import type { Logger } from "../../core/logger.ts";
import type { Changes } from "../../tool_server/changes.ts";
import type { BuiltinPromptOptions } from "../../tool_server/prompts/builtin_prompt.ts";
import { designSchema } from "../../tool_server/prompts/design_schema.ts";
import { diagnoseQueryIssue } from "../../tool_server/prompts/diagnose_query_issue.ts";
import { exploreDatabase } from "../../tool_server/prompts/explore_database.ts";
import { setupSemanticSearch } from "../../tool_server/prompts/setup_semantic_search.ts";
import { createCompleteNames } from "../../tool_server/resources/complete_names.ts";
import { databasesResource, systemInfoResource } from "../../tool_server/resources/database_resources.ts";
import { schemaResource, tableResource } from "../../tool_server/resources/schema_resources.ts";
import { createSchemaChanges } from "../../tool_server/resources/schema_changes.ts";
import type { DatabaseDirectory } from "../../tool_server/tools/databases/database_directory.ts";

/** The built-in resources and prompts over the databases, and the catalogs that they read from. */
export function createBuiltinResources({ directory, changes, offers, scopesByTool, logger }: {
  readonly directory: DatabaseDirectory;
  readonly changes: Changes;
  readonly offers: (part: "resources" | "prompts", name: string) => boolean;
  /** A resource needs those of the tool that tells the same. */
  readonly scopesByTool: Readonly<Record<string, readonly string[]>>;
  readonly logger: Logger;
}) {
  const schemaChanges = createSchemaChanges({ directory, changes, now: Date.now, logger });
  const { catalogs } = schemaChanges;
  const completeNames = createCompleteNames({ directory, catalogs });
  const ofSchemas = { directory, completeNames, scopes: scopesByTool["get_schema_info"] };
  const ofDatabases = { directory, scopes: scopesByTool["list_databases"] };
  return {
    schemaChanges,
    sources: [
      databasesResource(ofDatabases),
      systemInfoResource(ofDatabases),
      schemaResource({ ...ofSchemas, catalogs }),
      tableResource(ofSchemas),
    ].filter(({ name }) => offers("resources", name)),
    prompts(toolsOf: BuiltinPromptOptions["toolsOf"]) {
      const tellsOfServer = offers("resources", "system_info");
      const options = { directory, completeNames, toolsOf, tellsOfServer };
      return [
        exploreDatabase(options),
        setupSemanticSearch(options),
        diagnoseQueryIssue(options),
        designSchema(options),
      ].filter(({ name }) => offers("prompts", name));
    },
  };
}
