import { defined } from "../../core/defined.ts";
import type { Changes } from "../changes.ts";
import type { Prompt } from "../prompts/prompt_registry.ts";
import type { Knowledge } from "../questions/prompt_knowledge.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { ReadDefinitions, ResourceDefinition } from "./read_definitions.ts";
import type { Principal } from "../../core/principal.ts";
import { type AccessObject, type ScopesByTool, visibleTo } from "../../identity/access_rules.ts";
import { AppError } from "../../core/app_error.ts";
import { type CallContext, type JsonObject, tellElapsed } from "../call_context.ts";
import { mayRead } from "../resources/builtin_resource.ts";
import type { ResourceDescription, ResourceSource } from "../resources/resource_registry.ts";
import { createTool, dataNotice, type Tool } from "../tools/tool.ts";
import { z } from "zod";
import type { ToolDefinition } from "./tool_definitions.ts";
import { rowsReply, statementErrorReply, statementErrorText } from "../tools/statement_reply.ts";

/** What a definitions file defines, as callers are offered it. */
export function createOfferedDefinitions(
  { directory, changes, replaceTools, view, scopesByTool = {} }: {
    readonly directory: DatabaseDirectory;
    readonly changes: Changes;
    readonly replaceTools: ToolRegistry["replaceDefined"];
    /** Names the view that shows the rows of tools. Optional: none where views are switched off. */
    readonly view?: JsonObject | undefined;
    /** Optional: no tool needs any. */
    readonly scopesByTool?: ScopesByTool;
  },
) {
  const resources = createDefinedResources(directory, scopesByTool["read_resource"]);
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

interface DefinedResource extends AccessObject {
  readonly definition: ResourceDefinition;
  readonly description: ResourceDescription;
  /** Of one that is the same for everybody. */
  readonly text?: string;
}

/** The resources of a definitions file, which `replace` puts in the place of those before. */
function createDefinedResources(directory: DatabaseDirectory, scopes: readonly string[] = []) {
  let resources: readonly DefinedResource[] = [];

  function ofPrincipal(principal: Principal): DefinedResource[] {
    const databases = directory.list(principal).map(({ name }) => name);
    return visibleTo(principal, resources).filter(({ definition }) =>
      definition.type === "static" || definition.database === undefined ||
      databases.includes(definition.database)
    );
  }

  const source: ResourceSource = {
    list: (principal) => ofPrincipal(principal).map(({ description }) => description),
    templates: () => [],
    async read(uri, context) {
      const found = ofPrincipal(context.principal).find(({ name }) => name === uri);
      if (found === undefined || !mayRead(context.principal, { ...found, scopes }, uri)) return undefined;
      const { definition, description: { mimeType }, text } = found;
      const contents = { uri, ...defined({ mimeType }) };
      if (definition.type === "static") return [{ ...contents, text: text ?? "" }];
      return [{ ...contents, text: await rowsText(definition, context) }];
    },
  };

  async function rowsText(
    { sql, database: name, max_rows: maxRows, mimeType }: ResourceDefinition & { readonly type: "sql" },
    { principal, signal, span }: CallContext,
  ): Promise<string> {
    const database = directory.resolve(principal, name);
    const result = await database.read({
      principal,
      sql,
      signal,
      span,
      ...defined({ maxRows }),
    });
    if (!result.ok) throw new AppError("upstream", statementErrorText(result.error, sql));
    const { text, data } = rowsReply({ text: sql, database }, { kind: "rows", sql, result });
    if (!isJson(mimeType)) return text;
    return JSON.stringify({ data_notice: dataNotice(["columns", "rows"]), ...data });
  }

  return {
    source,
    /** Says whether the list is another now. */
    replace(definitions: readonly ResourceDefinition[]): boolean {
      const before = resources;
      resources = definitions.map(definedResource);
      const shown = (list: readonly DefinedResource[]) =>
        JSON.stringify(list.map(({ description, available_to_users }) => [description, available_to_users]));
      return shown(before) !== shown(resources);
    },
  };
}

function definedResource(definition: ResourceDefinition): DefinedResource {
  const { uri, name, title, description } = definition;
  const mimeType = mimeTypeOf(definition);
  return {
    kind: "resource",
    name: uri,
    available_to_users: definition.available_to_users,
    definition,
    description: {
      uri,
      name,
      ...defined({ title }),
      ...(description === "" ? {} : { description }),
      mimeType,
    },
    ...(definition.type === "static" ? { text: staticText(definition.data, mimeType) } : {}),
  };
}

/** Rows are JSON only where that is asked for: models read them with fewer tokens as a text, between marks. */
function mimeTypeOf({ type, mimeType }: ResourceDefinition): string {
  if (type === "sql") return isJson(mimeType) ? "application/json" : "text/plain";
  return mimeType ?? "application/json";
}

function isJson(mimeType: string | undefined): boolean {
  return /^application\/json\b/.test(mimeType ?? "");
}

function staticText(data: unknown, mimeType: string): string {
  return typeof data === "string" && !isJson(mimeType) ? data : JSON.stringify(data, undefined, 2);
}

const output = z.object({
  database: z.string(),
  sql: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.unknown())).describe("Values in the columns' order, as those of query_database."),
  row_count: z.int(),
  truncated: z.boolean().describe("Whether there are more rows than these."),
});

/** A tool that runs a definition's statement as its caller. For callers without its database it does not exist. */
export function sqlTool(
  { sql, input, database: name, maxRows, availableToUsers, ...described }: ToolDefinition,
  { directory, view }: { readonly directory: DatabaseDirectory; readonly view?: JsonObject | undefined },
): Tool {
  return createTool({
    ...described,
    input: input.type,
    inputSchema: input.schema,
    output,
    untrusted: ["columns", "rows"],
    meta: view,
    mayBecomeTask: true,
    available_to_users: availableToUsers,
    isFor: (principal) => name === undefined || directory.list(principal).some((each) => each.name === name),
    async run(args, { principal, signal, span, client }) {
      const database = directory.resolve(principal, name);
      const parameters = input.names.map((argument) =>
        // an argument may be called "constructor"
        parameterText(Object.hasOwn(args, argument) ? args[argument] : undefined)
      );
      using _progress = tellElapsed(client?.notifyProgress, "Running the statement");
      const result = await database.read({
        principal,
        sql,
        parameters,
        signal,
        span,
        ...defined({ maxRows }),
      });
      if (!result.ok) return statementErrorReply(result.error, sql, database.name);
      return rowsReply({ text: sql, database }, { kind: "rows", sql, result });
    },
  });
}

/** An argument as PostgreSQL reads it, whatever type the statement gives its place; null for what is not given. */
export function parameterText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) && value.every(isScalar)) return `{${value.map(elementText).join(",")}}`;
  return isScalar(value) ? String(value) : JSON.stringify(value);
}

// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
function elementText(value: unknown): string {
  if (value === null) return "NULL";
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
