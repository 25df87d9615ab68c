import {
  type ElicitInputParams,
  inputRequired,
  type InputRequiredResult,
  MissingRequiredClientCapabilityError,
} from "@modelcontextprotocol/server";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { AppError } from "../../core/app_error.ts";
import { defined } from "../../core/defined.ts";
import type { Principal } from "../../core/principal.ts";
import type { CallContext } from "../call_context.ts";
import type { Changes } from "../changes.ts";
import type { PromptRegistry } from "../prompts/prompt_registry.ts";
import type { ResourceRegistry } from "../resources/resource_registry.ts";
import type { databaseMethods } from "../tools/databases/pgedge_databases.ts";
import type { UserQuestion } from "../questions/ask_user.ts";
import {
  answerCall,
  type CallOptions,
  callTool,
  callToolAsTask,
  type McpCall,
  namedWithArguments,
  type Params,
} from "./answer_call.ts";
import { type Tasks, tasksExtension } from "./tasks.ts";
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

/** Answers a request. @throws what `errorObject` makes an error of */
export type Method = (params: Params, caller: CallContext, id: RequestId) => object | Promise<object>;

/**
 * The methods that every transport has, and those that only a client of 2026-07-28 has where there are tasks. Results are
 * the method's own, without what a revision adds to each.
 */
export function createMethods(options: McpOptions, tasks?: Tasks): ReadonlyMap<string, Method> {
  const { registry, resources, prompts, databaseChoice } = options;
  const called = (
    method: McpCall["method"],
    run: (params: Params, context: CallContext) => object | Promise<object>,
  ): [string, Method] => [method, (params, caller, id) => {
    const call = { method, params, id, signal: caller.signal };
    return answerCall(options, call, caller, async (context) => await run(params, context));
  }];
  const listed = (
    method: string,
    list: ListName,
    itemsFor: (principal: Principal) => readonly object[],
  ): [string, Method] => [
    method,
    ({ cursor }, { principal }) => pageOf(list, itemsFor(principal), cursor).result,
  ];
  return new Map<string, Method>([
    listed("tools/list", "tools", registry.listTools),
    ["tools/call", async (params, caller, id) => {
      const { client, signal } = caller;
      const call = { method: "tools/call", params, id, meta: params["_meta"], signal } as const;
      const result = tasks !== undefined && client?.takesTasks === true &&
          registry.mayBecomeTask(params["name"])
        ? await callToolAsTask(options, tasks, { ...call, client }, caller)
        : await callTool(options, call, caller);
      if ("taskId" in result) return { resultType: "task", ...result };
      return result.ask === undefined ? result : inputRequest(result.ask);
    }],
    listed("resources/list", "resources", resources.list),
    listed("resources/templates/list", "resource templates", resources.templates),
    listed("prompts/list", "prompts", prompts.list),
    called("resources/read", async (params, call) => {
      const { contents, freshness } = await resources.read(addressIn(params), call);
      return { contents, ...freshness };
    }),
    called("prompts/get", (params, call) => {
      const { name, args } = namedWithArguments(params, "get a prompt");
      return prompts.get(name, args, call);
    }),
    called("completion/complete", (params, call) => complete(options, params, call)),
    ...tasks === undefined
      ? []
      : taskMethods(tasks).map(([method, answer]) =>
        called(method, ({ taskId }, context) => answer(taskId, context))
      ),
    ...databaseChoice === undefined ? [] : [
      called("pgedge/listDatabases", (_params, { principal }) => databaseChoice.listDatabases(principal)),
      called(
        "pgedge/selectDatabase",
        (params, call) => databaseChoice.selectDatabase(params, call.principal),
      ),
    ],
  ]);
}

type TaskAnswer = (taskId: unknown, context: CallContext) => Promise<object>;

/** What a client does with tasks. They ask for no input, so `tasks/update` changes nothing. */
function taskMethods(tasks: Tasks): (readonly [McpCall["method"], TaskAnswer])[] {
  const methods: readonly (readonly [McpCall["method"], TaskAnswer])[] = [
    ["tasks/get", async (taskId, { principal }) => {
      const { view, ended } = await tasks.get(principal, taskId);
      switch (ended?.status) {
        case "completed":
          return { ...view, result: ended.result };
        case "failed":
          return { ...view, error: ended.error };
        default:
          return view;
      }
    }],
    ["tasks/update", async (taskId, { principal }) => {
      await tasks.get(principal, taskId);
      return {};
    }],
    ["tasks/cancel", async (taskId, { principal }) => {
      await tasks.cancel(principal, taskId);
      return {};
    }],
  ];
  return methods.map(([method, answer]) => [method, (taskId, context) => {
    if (context.client?.takesTasks === true) return answer(taskId, context);
    const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
    throw new MissingRequiredClientCapabilityError(
      { requiredCapabilities },
      `Cannot answer ${method}: the request does not declare the extension ${tasksExtension}`,
    );
  }]);
}

/** Values for an argument of a prompt or a variable of a resource template that begin with what is there already. */
async function complete({ prompts, resources }: McpOptions, params: Params, call: CallContext) {
  const { ref, argument } = params;
  if (!isMap(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string") {
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
    ? await resources.complete({ uriTemplate: ref["uri"], variable: name, value, given }, call)
    : noReference();
  return {
    completion: {
      values: values.slice(0, maxCompletions),
      total: values.length,
      hasMore: values.length > maxCompletions,
    },
  };
}

/** Whoever answers sends the whole call again, so there is no state to carry (MCP, Multi Round-Trip Requests). */
function inputRequest({ key, message, form }: UserQuestion): InputRequiredResult {
  // ours is deeply readonly, the SDK's is not
  const requestedSchema = form as ElicitInputParams["requestedSchema"];
  return inputRequired({ inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema }) } });
}

/**
 * The resource that a request is about.
 * @throws {AppError} `invalid`
 */
export function addressIn({ uri }: Params, doing = "read"): string {
  if (typeof uri === "string") return uri;
  throw new AppError("invalid", `Cannot ${doing} a resource: params.uri must be a string`);
}

function noReference(): never {
  const expected = 'params.ref must be a "ref/prompt" with a name or a "ref/resource" with a uri';
  throw new AppError("invalid", `Cannot complete: ${expected}`);
}

/** What was chosen before, from `params.context.arguments`. */
function givenIn(context: unknown): Readonly<Record<string, string>> {
  const given = isMap(context) ? context["arguments"] : undefined;
  if (!isMap(given)) return {};
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

const pageSize = 100;

/**
 * The page of a list that a cursor leads to, the first one without, and its number (MCP, Pagination).
 * @throws {AppError} `invalid` where the cursor leads to no page of it
 */
export function pageOf(list: ListName, items: readonly object[], cursor: unknown) {
  const number = cursor === undefined ? 0 : pageNumber(list, cursor);
  const start = number * pageSize;
  if (!Number.isSafeInteger(number) || (number > 0 && start >= items.length)) {
    const message = "leads to no page of this list; begin again without it";
    throw new AppError("invalid", `Cannot list ${list}: cursor: ${message}`, {
      data: { faults: [{ argument: "cursor", message }] },
    });
  }
  const end = start + pageSize;
  const page = items.length <= pageSize ? items : items.slice(start, end);
  const nextCursor = end < items.length ? btoa(`${list} ${number + 1}`) : undefined;
  return {
    number,
    result: {
      [list === "resource templates" ? "resourceTemplates" : list]: page,
      ...defined({ nextCursor }),
    },
  };
}

type ListName = "tools" | "resources" | "resource templates" | "prompts";

function pageNumber(list: ListName, cursor: unknown): number {
  if (typeof cursor !== "string" || cursor.length > 100) return NaN;
  const [, number] = new RegExp(`^${list} ([1-9]\\d*)$`).exec(decoded(cursor)) ?? [];
  return Number(number);
}

function decoded(cursor: string): string {
  try {
    return atob(cursor);
  } catch {
    return "";
  }
}
