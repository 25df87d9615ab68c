import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import type { CallContext } from "../call_context.ts";
import type { Changes } from "../changes.ts";
import type { PromptRegistry } from "../prompts/prompt_registry.ts";
import type { ResourceRegistry } from "../resources/resource_registry.ts";
import type { ToolDescription } from "../tools/tool.ts";
import type { databaseMethods } from "../tools/databases/pgedge_databases.ts";
import type { CallOptions } from "./answer_call.ts";
import type { Params } from "./call_report.ts";
import { type Page, pageOf } from "./list_pages.ts";
import { isMap } from "../../core/yaml/value_tree.ts";

/** How the server names itself to MCP clients. */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** What every transport serves. */
export interface McpOptions extends CallOptions {
  readonly resources: ResourceRegistry;
  readonly prompts: PromptRegistry;
  readonly serverInfo: ServerInfo;
  /** Optional: none where there is nothing to choose from. */
  readonly databaseChoice?: ReturnType<typeof databaseMethods> | undefined;
  /** Optional: none where what is offered stays as it is. */
  readonly changes?: Changes | undefined;
}

/** Values of one completion (MCP, Completion). */
const maxCompletions = 100;

export function createMethods({ registry, resources, prompts, databaseChoice }: McpOptions) {
  return {
    listTools: (cursor: unknown, principal: Principal): Page<ToolDescription> =>
      pageOf("tools", registry.listTools(principal), cursor),
    listResources(cursor: unknown, principal: Principal) {
      const { items, nextCursor } = pageOf("resources", resources.list(principal), cursor);
      return { resources: items, ...withCursor(nextCursor) };
    },
    listTemplates(cursor: unknown, principal: Principal) {
      const { items, nextCursor } = pageOf("resource templates", resources.templates(principal), cursor);
      return { resourceTemplates: items, ...withCursor(nextCursor) };
    },
    listPrompts(cursor: unknown, principal: Principal) {
      const { items, nextCursor } = pageOf("prompts", prompts.list(principal), cursor);
      return { prompts: items, ...withCursor(nextCursor) };
    },
    async readResource(params: Params, call: CallContext) {
      return await resources.read(addressIn(params), call);
    },
    async getPrompt({ name, arguments: args = {} }: Params, call: CallContext) {
      if (typeof name !== "string") {
        throw new AppError("invalid", "Cannot get a prompt: params.name must be a string");
      }
      if (!isMap(args)) {
        throw new AppError("invalid", "Cannot get a prompt: params.arguments must be an object");
      }
      return await prompts.get(name, args, call);
    },
    /** Values for an argument of a prompt or a variable of a resource template that begin with what is there already. */
    async complete(params: Params, call: CallContext) {
      const { ref, argument } = params;
      if (
        !isMap(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string"
      ) {
        throw new AppError(
          "invalid",
          "Cannot complete: params.argument must have a name and a value, as strings",
        );
      }
      const { name, value } = argument;
      const given = givenIn(params["context"]);
      const values = isMap(ref) && ref["type"] === "ref/prompt" && typeof ref["name"] === "string"
        ? await prompts.complete(ref["name"], name, value, call, given)
        : isMap(ref) && ref["type"] === "ref/resource" && typeof ref["uri"] === "string"
        ? await resources.complete(
          { uriTemplate: ref["uri"], variable: name, value, given },
          call,
        )
        : noReference();
      return {
        completion: {
          values: values.slice(0, maxCompletions),
          total: values.length,
          hasMore: values.length > maxCompletions,
        },
      };
    },
    /** Those of pgEdge's command line, where there is anything to choose from. */
    ofDatabases: databaseChoice && {
      listDatabases: async (_params: Params, { principal }: CallContext) =>
        await databaseChoice.listDatabases(principal),
      selectDatabase: async (params: Params, { principal }: CallContext) =>
        await databaseChoice.selectDatabase(params, principal),
    },
  };
}

/**
 * The resource that a request is about.
 * @throws {AppError} `invalid`
 */
export function addressIn({ uri }: Params): string {
  if (typeof uri === "string") return uri;
  throw new AppError("invalid", "Cannot read a resource: params.uri must be a string");
}

export function withCursor(nextCursor: string | undefined) {
  return nextCursor === undefined ? {} : { nextCursor };
}

function noReference(): never {
  throw new AppError(
    "invalid",
    'Cannot complete: params.ref must be a "ref/prompt" with a name or a "ref/resource" with a uri',
  );
}

/** What was chosen before, from `params.context.arguments`. */
function givenIn(context: unknown): Readonly<Record<string, string>> {
  const given = isMap(context) ? context["arguments"] : undefined;
  if (!isMap(given)) return {};
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
