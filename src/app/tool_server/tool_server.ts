import type { Running } from "../shared_parts.ts";
import { type CallsOptions, createCalls } from "../../calls/calls.ts";
import type { WaitBounds } from "../../core/admission.ts";
import type { Logger } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import { createDatabase, type Database } from "../../postgres/database.ts";
import { createLateCheckScheduler } from "../../postgres/guard/check_scheduler.ts";
import { createConnectionPools } from "../../postgres/pool/connection_pools.ts";
import { type Changes, createChanges } from "../../tool_server/changes.ts";
import { createOfferedDefinitions } from "../../tool_server/definitions/offered_definitions.ts";
import { createTasks } from "../../tool_server/mcp/tasks.ts";
import { createPromptRegistry } from "../../tool_server/prompts/prompt_registry.ts";
import { historyOwner } from "../../tool_server/questions/history.ts";
import { createVerifiedAnswers } from "../../tool_server/questions/answer.ts";
import { createResourceRegistry } from "../../tool_server/resources/resource_registry.ts";
import { countRows } from "../../tool_server/tools/count_rows.ts";
import {
  databaseMethods,
  listDatabaseConnections,
  selectDatabaseConnection,
} from "../../tool_server/tools/databases/pgedge_databases.ts";
import {
  addressOf,
  createDatabaseDirectory,
  type DatabaseDirectory,
  type DirectoryEntry,
} from "../../tool_server/tools/databases/database_directory.ts";
import { executeExplain } from "../../tool_server/tools/execute_explain.ts";
import { findTools } from "../../tool_server/tools/find_tools.ts";
import { getSchemaInfo } from "../../tool_server/tools/get_schema_info.ts";
import { queryDatabase } from "../../tool_server/tools/query_database.ts";
import { readResource } from "../../tool_server/tools/read_resource.ts";
import { createRegistry, type RegistryOptions, type ToolRegistry } from "../../tool_server/tools/registry.ts";
import { viewOfTool, viewResource } from "../../tool_server/view/view_resource.ts";
import type { WordsOptions } from "./answer_questions.ts";
import type { DocumentsOptions } from "./document_tools.ts";
import type { OpenDatabase } from "../open_databases.ts";
import { watchPools } from "../telemetry/watch_pools.ts";
import { toolsOffByDefault } from "../../tool_server/builtin_kinds.ts";
import { listDatabases, selectDatabase } from "../../tool_server/tools/databases/database_tools.ts";
import { forget, logout, usage } from "../../tool_server/tools/caller_tools.ts";
import { createCompleteNames } from "../../tool_server/resources/complete_names.ts";
import { databasesResource, systemInfoResource } from "../../tool_server/resources/database_resources.ts";
import { schemaResource, tableResource } from "../../tool_server/resources/schema_resources.ts";
import { createSchemaChanges } from "../../tool_server/resources/schema_changes.ts";
import { createBuiltinPrompts } from "../../tool_server/prompts/builtin_prompts.ts";

interface ToolServerOptions extends
  Pick<
    Running,
    "state" | "audit" | "serverInfo" | "metrics" | "quotas" | "recentCalls" | "tracer" | "logger"
  > {
  readonly databases: readonly OpenDatabase[];
  readonly maxConnections: number;
  readonly waitBounds: WaitBounds;
  /** Optional: none where requests in words are not answered. */
  readonly words: WordsOptions | undefined;
  /** Optional: none where the configuration has neither pipelines nor an embedding provider. */
  readonly documents?: DocumentsOptions | undefined;
  /** Says whether a built-in tool, resource or prompt is listed and may be used. */
  readonly offers: (part: "tools" | "resources" | "prompts", name: string) => boolean;
  /** Whether there is a definitions file, or may be. */
  readonly hasDefinitions: boolean;
  /** Whether lists show the tools of a definitions file too. */
  readonly listsDefined: boolean;
  /** Scopes that calls of a tool need. */
  readonly scopesByTool: NonNullable<RegistryOptions["scopesByTool"]>;
  /** Ends the session that asks for it. */
  readonly endSession: (id: string) => Promise<void>;
  readonly onIncident: CallsOptions["onIncident"];
}

export type ToolServer = Awaited<ReturnType<typeof createToolServer>>;

/** The tools over the databases, before any transport. */
export async function createToolServer(options: ToolServerOptions) {
  const { maxConnections, waitBounds, words, serverInfo, state, metrics, quotas, logger } = options;
  const guard = createLateCheckScheduler({ durations: metrics.stage("tool_server", "guard") });
  const pools = createConnectionPools({ maxConnections, waitBounds, logger });
  const watchedPools = watchPools(metrics, "tool_server", {
    pools,
    maxConnections,
    databases: () => entries.map(({ database }) => database),
  });
  const opened = new WeakMap<OpenDatabase["options"], Database>();
  const entryOf = ({ options: database, availableToUsers }: OpenDatabase) => {
    const statements = metrics.ofDatabase("tool_server", database.name);
    const reader = opened.get(database) ??
      createDatabase({ options: database, pools, guard, metrics: statements, quotas, logger });
    opened.set(database, reader);
    return {
      kind: "database" as const,
      name: database.name,
      available_to_users: availableToUsers,
      database: reader,
      address: addressOf(database),
    };
  };
  // the directory looks at the list in each call
  const entries: DirectoryEntry[] = options.databases.map(entryOf);
  const directory = createDatabaseDirectory(
    entries,
    (key) => builtin.schemaChanges.selected(key),
    state.of("chosen database"),
  );
  const changes = createChanges();
  const builtin = createBuiltinResources({ ...options, directory, changes });
  const view = options.offers("resources", "view") ? viewOfTool : undefined;
  const definitions = createOfferedDefinitions({
    directory,
    changes,
    view,
    scopesByTool: options.scopesByTool,
    replaceTools: (tools) => registry.replaceDefined(tools),
  });
  const calls = createCalls(options);
  const { knowledge } = definitions;
  const answerer = words && (await import("./answer_questions.ts"))
    .answerQuestions({ ...words, knowledge }, guard, builtin.schemaChanges, quotas, logger);
  // what most servers do not offer is not loaded
  const isCareOffered = toolsOffByDefault.some((tool) => options.offers("tools", tool));
  const care = isCareOffered
    ? (await import("../../tool_server/tools/database_care/recommend_indexes.ts")).careTools({
      directory,
      guard,
    })
    : [];
  const documents = options.documents &&
    (await import("./document_tools.ts")).documentTools(
      options.documents,
      directory,
      view,
      options.scopesByTool,
    );
  const tasks = createTasks({
    state,
    rightsOf: (principal) =>
      JSON.stringify([directory.rightsOf(principal), documents?.rightsOf?.(principal)]),
  });
  const resources = createResourceRegistry([
    ...builtin.sources,
    ...(options.offers("resources", "document") ? documents?.resources ?? [] : []),
    ...(view === undefined ? [] : [viewResource()]),
    definitions.resources,
  ]);
  const registry: ToolRegistry = createRegistry({
    tools: [
      queryDatabase({
        directory,
        guard,
        whyNoExplain: (principal) => registry.whyNotUsable("execute_explain", principal),
        ...(answerer === undefined ? {} : { answerQuestion: answerer.answerQuestion }),
        view,
        hasVerified: options.hasDefinitions,
        verified: createVerifiedAnswers({ knowledge, history: words?.history, now: Date.now }),
      }),
      getSchemaInfo({
        directory,
        linksToTables: options.offers("resources", "table"),
        models: () => knowledge()?.models,
      }),
      countRows({ directory }),
      executeExplain({ directory }),
      listDatabases({ directory, linksToSchemas: options.offers("resources", "schema") }),
      selectDatabase({ directory }),
      listDatabaseConnections({ directory }),
      selectDatabaseConnection({ directory }),
      readResource({ resources }),
      ...(words === undefined ? [] : [forget({ history: words.history })]),
      ...care,
      ...documents?.tools ?? [],
      findTools({ usableTools: (principal) => registry.usableTools(principal) }),
      usage({ quotas }),
      logout({ endSession: options.endSession }),
    ].filter((tool) => options.offers("tools", tool.description.name)),
    listsDefined: options.listsDefined,
    scopesByTool: options.scopesByTool,
  });
  const prompts = builtin.prompts((principal) => registry.listTools(principal).map(({ name }) => name));
  return {
    registry,
    resources,
    prompts: createPromptRegistry(() => [...prompts, ...definitions.prompts()]),
    changes,
    guard,
    offerDefinitions: definitions.offer,
    calls,
    fingerprint: guard.fingerprint,
    tasks,
    databaseChoice: databaseMethods(directory, options.scopesByTool),
    serverInfo,
    tracer: options.tracer,
    scopesByTool: options.scopesByTool,
    /** With who may use each, in the configuration's order. */
    entries,
    /** That requests in words go to, the first choice first. */
    providers: words?.completions ?? [],
    get databases(): readonly Database[] {
      return entries.map(({ database }) => database);
    },
    /**
     * Replaces the databases, and returns the new ones. One whose options are the same object stays as it is.
     * Statements on one that goes away or changes still finish.
     */
    replaceDatabases(databases: readonly OpenDatabase[]): readonly Database[] {
      const before = new Set(entries.map(({ database }) => database));
      const listed = accessText(entries);
      builtin.schemaChanges.replacing(() => entries.splice(0, entries.length, ...databases.map(entryOf)));
      if (accessText(entries) !== listed) changes.publish({ kind: "resources" });
      return entries.map(({ database }) => database).filter((database) => !before.has(database));
    },
    /** Closes the connections of a token or a session that has ended, and forgets what it chose. */
    endPrincipal(principal: Principal): void {
      calls.underWay.endPrincipal(principal);
      tasks.endPrincipal(principal);
      directory.end(principal);
      // a user finds the history at the next login; a token that has ended is never used again
      if (principal.kind === "token") words?.history.forget(historyOwner(principal)).catch(() => {});
      void pools.closePrincipal(principal);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await tasks[Symbol.asyncDispose]();
      calls[Symbol.dispose]();
      answerer?.[Symbol.dispose]();
      builtin.schemaChanges[Symbol.dispose]();
      await guard[Symbol.asyncDispose]();
      watchedPools[Symbol.dispose]();
      await pools.close();
    },
  };
}

/** Which databases there are, and for whom: the resources of a caller are those of their databases. */
function accessText(entries: readonly DirectoryEntry[]): string {
  return JSON.stringify(entries.map(({ name, available_to_users: users }) => [name, users]));
}

/** The built-in resources and prompts over the databases, and the catalogs that they read from. */
export function createBuiltinResources({ directory, changes, offers, scopesByTool, logger }: {
  readonly directory: DatabaseDirectory;
  readonly changes: Changes;
  readonly offers: (part: "resources" | "prompts", name: string) => boolean;
  /** A resource needs those of the tool that tells the same. */
  readonly scopesByTool: Readonly<Record<string, readonly string[]>>;
  readonly logger: Logger;
}) {
  const schemaChanges = createSchemaChanges({ directory, changes, scopesByTool, now: Date.now, logger });
  const { catalogs } = schemaChanges;
  const completeNames = createCompleteNames({ directory, catalogs, scopesByTool });
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
    prompts(toolsOf: (principal: Principal) => readonly string[]) {
      const tellsOfServer = offers("resources", "system_info");
      return createBuiltinPrompts({ completeNames, toolsOf, tellsOfServer })
        .filter(({ name }) => offers("prompts", name));
    },
  };
}
