import { SERVER_INFO_META_KEY } from "@modelcontextprotocol/server";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import type { CallContext } from "../call_context.ts";
import type { ToolDescription } from "../tools/tool.ts";
import { viewExtension } from "../view/view_resource.ts";
import type { Params } from "./answer_call.ts";
import {
  answerError,
  errorReply,
  invalidRequest,
  type JsonRpcReply,
  methodNotFound,
} from "./json_rpc_error.ts";
import { createMethods, type McpOptions, type Method, pageOf } from "./methods.ts";
import { currentVersion, versionFor } from "./protocol_version.ts";
import { type Tasks, tasksExtension } from "./tasks.ts";
import { isMap } from "../../core/yaml/value_tree.ts";
import type { Principal } from "../../core/principal.ts";

/** Requests of 2026-07-28 and later have an envelope, and their results say more. */
export type Revision = "older" | "now";

/** The one dispatcher over the registries: of bare JSON-RPC 2.0, and of every request over HTTP in each revision of MCP. */
export function createJsonRpc(options: McpOptions & { readonly tasks?: Tasks | undefined }) {
  const revisions = { older: olderRevisions(options), now: currentRevision(options) };

  async function answerOne(
    message: unknown,
    caller: CallContext,
    revision: Revision,
  ): Promise<JsonRpcReply | undefined> {
    const id = idOf(message);
    if (id === invalidId) {
      return errorReply(null, notRequest("id must be a string, null or a number up to 2^53-1"));
    }
    if (!isRequest(message)) {
      return errorReply(
        id ?? null,
        notRequest('expected an object with jsonrpc "2.0", method and, where given, params'),
      );
    }
    if (id === undefined) {
      if (isCancellation(message)) options.calls.underWay.cancel(caller.principal, message.params?.requestId);
      return undefined;
    }
    const { method, params = {} } = message;
    const { methods, complete, prepareTools } = revisions[revision];
    const run = methods.get(method);
    if (run === undefined) return errorReply(id, { code: methodNotFound, message: "Method not found" });
    try {
      const result = method === "tools/list"
        ? prepareTools(options.registry.listTools(caller.principal), params["cursor"])
        : complete(await run(params, caller, id), method);
      return { jsonrpc: "2.0", id, result };
    } catch (error) {
      return errorReply(id, answerError(error, method, caller.logger));
    }
  }

  return {
    /** Answers a request or a batch; undefined where nothing in it asks for an answer. */
    async answer(
      message: unknown,
      caller: CallContext,
      revision: Revision = "older",
    ): Promise<JsonRpcReply | JsonRpcReply[] | undefined> {
      if (!Array.isArray(message)) return await answerOne(message, caller, revision);
      const answers: Promise<JsonRpcReply | undefined>[] = [];
      await forEachInSlices(message, (item) => answers.push(answerOne(item, caller, revision)));
      const answered = (await Promise.all(answers)).filter((reply) => reply !== undefined);
      return answered.length === 0 ? undefined : answered;
    },
  };
}

/** Whether a message is the notification that cancels a call (MCP, Cancellation). */
export function isCancellation(message: unknown): message is { params?: { requestId?: unknown } } {
  return isMap(message) && message["method"] === "notifications/cancelled" && !("id" in message);
}

/** Bare JSON-RPC, for which `initialize` is not needed, and MCP before 2026-07-28. */
function olderRevisions(options: McpOptions) {
  const complete = (result: object) => "contents" in result ? { contents: result.contents } : result;
  const methods = new Map<string, Method>([
    ...createMethods(options),
    ["initialize", ({ protocolVersion }, { principal }) => ({
      protocolVersion: versionFor(protocolVersion),
      capabilities: capabilitiesOf({ tells: false }),
      serverInfo: options.serverInfo,
      instructions: instructionsFor(options, principal),
    })],
    ["ping", () => ({})],
  ]);
  return { methods, complete, prepareTools: createListPreparer(complete) };
}

function currentRevision({ tasks, ...options }: McpOptions & { readonly tasks?: Tasks | undefined }) {
  const { serverInfo, changes } = options;
  const offered = capabilitiesOf({ tasks, tells: changes !== undefined });
  const complete = (result: object, method: string) => ({
    resultType: "complete",
    ...cacheHints[method],
    ...result,
    _meta: {
      ...("_meta" in result && isMap(result._meta) ? result._meta : {}),
      [SERVER_INFO_META_KEY]: serverInfo,
    },
  });
  const methods = new Map<string, Method>([
    ...createMethods(options, tasks),
    ["server/discover", (_params, { principal }) => ({
      supportedVersions: [currentVersion],
      capabilities: offered,
      instructions: instructionsFor(options, principal),
    })],
  ]);
  return { methods, complete, prepareTools: createListPreparer(complete) };
}

/** What the server offers, in MCP's words, by whether it tells of changes and makes tasks. */
export function capabilitiesOf(
  { tasks, tells }: { readonly tasks?: Tasks | undefined; readonly tells: boolean },
) {
  const list = tells ? { listChanged: true } : {};
  return {
    tools: list,
    resources: tells ? { ...list, subscribe: true } : list,
    prompts: list,
    completions: {},
    extensions: { [viewExtension]: {}, ...(tasks && { [tasksExtension]: {} }) },
  };
}

/**
 * What is offered depends on the caller, and a reload may change it. Whoever does not listen (MCP, Subscriptions) asks anew
 * after this time.
 */
const offeredFor = { ttlMs: 60_000, cacheScope: "private" } as const;

export const cacheHints: Readonly<
  Record<string, { readonly ttlMs: number; readonly cacheScope: "private" }>
> = {
  "server/discover": offeredFor,
  "tools/list": offeredFor,
  "resources/list": offeredFor,
  "resources/templates/list": offeredFor,
  "prompts/list": offeredFor,
  // of a resource that does not say itself how long it is good for
  "resources/read": { ttlMs: 0, cacheScope: "private" },
};

/** A result whose JSON is known already, because it is the same for every call. */
interface PreparedResult {
  readonly preparedJson: string;
}

// the same list is asked for over and over, and is long
function createListPreparer(complete: (result: object, method: string) => object) {
  const prepared = new WeakMap<readonly ToolDescription[], Map<number, PreparedResult>>();
  return (tools: readonly ToolDescription[], cursor: unknown): PreparedResult => {
    const { number, result } = pageOf("tools", tools, cursor);
    const pages = prepared.get(tools) ?? new Map<number, PreparedResult>();
    const known = pages.get(number);
    if (known !== undefined) return known;
    const page = { preparedJson: asciiJson(JSON.stringify(complete(result, "tools/list"))) };
    prepared.set(tools, pages.set(number, page));
    return page;
  };
}

/** The same JSON in ASCII: the engine holds that in half of the bytes, and has nothing to translate when it goes out. */
function asciiJson(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function isRequest(message: unknown): message is { method: string; params?: Params } {
  return isMap(message) && message["jsonrpc"] === "2.0" && typeof message["method"] === "string" &&
    (message["params"] === undefined || isMap(message["params"]));
}

function notRequest(detail: string) {
  return { code: invalidRequest, message: `Invalid Request: ${detail}` };
}

const invalidId = Symbol("invalid id");

// absent: a notification. A number that JavaScript cannot hold exactly could not be echoed as it came.
function idOf(message: unknown): RequestId | undefined | typeof invalidId {
  if (!isMap(message) || !Object.hasOwn(message, "id")) return undefined;
  const id = message["id"];
  if (
    id === null || typeof id === "string" ||
    (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER)
  ) {
    return id;
  }
  return invalidId;
}

/** A reply as it goes over the wire. */
export function replyText(reply: JsonRpcReply | readonly JsonRpcReply[]): string {
  if (!("id" in reply)) return `[${reply.map(replyText).join(",")}]`;
  if (!("result" in reply) || !isPrepared(reply.result)) return JSON.stringify(reply);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(reply.id)},"result":${reply.result.preparedJson}}`;
}

function isPrepared(result: unknown): result is PreparedResult {
  return isMap(result) && typeof result["preparedJson"] === "string";
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
