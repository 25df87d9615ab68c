import { defined } from "../../core/defined.ts";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { AppError, type ErrorCode, type ErrorMeaning } from "../../core/app_error.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import type { CallContext } from "../call_context.ts";
import type { ToolDescription } from "../tools/tool.ts";
import { viewExtension } from "../view/view_resource.ts";
import { answerCall, callTool, type McpCall } from "./answer_call.ts";
import type { Params } from "./call_report.ts";
import { instructionsFor } from "./instructions.ts";
import { createMethods, type McpOptions, withCursor } from "./methods.ts";
import { pageOf } from "./list_pages.ts";
import { versionFor } from "./protocol_version.ts";
import { isMap } from "../../core/yaml/value_tree.ts";

interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type JsonRpcReply =
  & { readonly jsonrpc: "2.0"; readonly id: RequestId }
  & ({ readonly result: unknown } | { readonly error: JsonRpcError });

type Method = (params: Params, caller: CallContext, id: RequestId) => unknown;

/** Bare JSON-RPC 2.0 over the registry: no session, and `initialize` is not needed. */
export function createJsonRpc(options: McpOptions) {
  const methods = createMethodTable(options);

  async function answerOne(message: unknown, caller: CallContext): Promise<JsonRpcReply | undefined> {
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
    const method = methods.get(message.method);
    if (method === undefined) return errorReply(id, { code: methodNotFound, message: "Method not found" });
    try {
      return { jsonrpc: "2.0", id, result: await method(message.params ?? {}, caller, id) };
    } catch (error) {
      if (!(error instanceof AppError)) caller.logger.error(`Method ${message.method} failed`, { error });
      return errorReply(id, errorObject(error));
    }
  }

  return {
    /** Answers a request or a batch; undefined where nothing in it asks for an answer. */
    async answer(
      message: unknown,
      caller: CallContext,
    ): Promise<JsonRpcReply | JsonRpcReply[] | undefined> {
      if (!Array.isArray(message)) return await answerOne(message, caller);
      const answers: Promise<JsonRpcReply | undefined>[] = [];
      await forEachInSlices(message, (item) => answers.push(answerOne(item, caller)));
      const answered = (await Promise.all(answers)).filter((reply) => reply !== undefined);
      return answered.length === 0 ? undefined : answered;
    },
  };
}

/** Whether a message is the notification that cancels a call (MCP, Cancellation). */
export function isCancellation(message: unknown): message is { params?: { requestId?: unknown } } {
  return isMap(message) && message["method"] === "notifications/cancelled" && !("id" in message);
}

/** What the server offers, in MCP's words. */
export const capabilities = {
  tools: {},
  resources: {},
  prompts: {},
  completions: {},
  extensions: { [viewExtension]: {} },
} as const;

function createMethodTable(options: McpOptions): ReadonlyMap<string, Method> {
  const { registry, serverInfo } = options;
  const methods = createMethods(options);
  const prepareList = createListPreparer();
  const called = (
    method: McpCall["method"],
    run: (params: Params, context: CallContext) => Promise<object>,
  ): [string, Method] => [
    method,
    (params, caller, id) =>
      answerCall(
        options,
        { method, params, id, signal: caller.signal },
        caller,
        (context) => run(params, context),
      ),
  ];
  return new Map<string, Method>([
    ["initialize", ({ protocolVersion }, { principal }) => ({
      protocolVersion: versionFor(protocolVersion),
      capabilities,
      serverInfo,
      instructions: instructionsFor(options, principal),
    })],
    ["ping", () => ({})],
    ["tools/list", ({ cursor }, { principal }) => prepareList(registry.listTools(principal), cursor)],
    ["tools/call", (params, caller, id) => {
      const { _meta: meta } = params;
      return callTool(options, { method: "tools/call", params, id, meta, signal: caller.signal }, caller);
    }],
    ["resources/list", ({ cursor }, { principal }) => methods.listResources(cursor, principal)],
    ["resources/templates/list", ({ cursor }, { principal }) => methods.listTemplates(cursor, principal)],
    called("resources/read", async (params, context) => {
      const { contents } = await methods.readResource(params, context);
      return { contents };
    }),
    ["prompts/list", ({ cursor }, { principal }) => methods.listPrompts(cursor, principal)],
    called("prompts/get", methods.getPrompt),
    called("completion/complete", methods.complete),
    ...methods.ofDatabases === undefined ? [] : [
      called("pgedge/listDatabases", methods.ofDatabases.listDatabases),
      called("pgedge/selectDatabase", methods.ofDatabases.selectDatabase),
    ],
  ]);
}

/** A result whose JSON is known already, because it is the same for every call. */
interface PreparedResult {
  readonly preparedJson: string;
}

// the same list is asked for over and over, and is long
function createListPreparer() {
  const prepared = new WeakMap<readonly ToolDescription[], Map<number, PreparedResult>>();
  return (tools: readonly ToolDescription[], cursor: unknown): PreparedResult => {
    const { items, number, nextCursor } = pageOf("tools", tools, cursor);
    const pages = prepared.get(tools) ?? new Map<number, PreparedResult>();
    const known = pages.get(number);
    if (known !== undefined) return known;
    const result = { preparedJson: asciiJson(JSON.stringify({ tools: items, ...withCursor(nextCursor) })) };
    prepared.set(tools, pages.set(number, result));
    return result;
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

/** What is wrong with a message rather than with a call (JSON-RPC 2.0, section 5.1), by number. */
export const messageErrors = {
  [-32700]: {
    means: "The body is not JSON in UTF-8, or too complex",
    remedy: "Send JSON; the message says what is too complex",
  },
  [-32600]: {
    means: "The message is not a request of JSON-RPC 2.0, or its HTTP request is not as expected",
    remedy: "Correct what the message names; the HTTP status says more",
  },
  [-32601]: {
    means: "There is no such method",
    remedy: "Use `initialize`, `ping` or a method of tools, resources, prompts or `completion/complete`",
  },
} as const satisfies Readonly<Record<number, ErrorMeaning>>;

type MessageErrorNumber = keyof typeof messageErrors;

export const parseError: JsonRpcError & { readonly code: MessageErrorNumber } = {
  code: -32700,
  message: "Parse error: the body is not JSON in UTF-8",
};
export const invalidRequest: MessageErrorNumber = -32600;
const methodNotFound: MessageErrorNumber = -32601;

/** Those of section 5.1 where one fits, else Postern's own. */
export const errorNumbers = {
  invalid: -32602,
  not_found: -32602,
  unauthorized: -32001,
  rate_limited: -32002,
  quota_exceeded: -32003,
  overloaded: -32004,
  unavailable: -32005,
  upstream: -32006,
  timeout: -32007,
  conflict: -32008,
  forbidden: -32009,
  internal: -32603,
} as const satisfies Readonly<Record<ErrorCode, number>>;

/** The error object of something thrown; what is no AppError becomes a fixed text. */
export function errorObject(error: unknown): JsonRpcError {
  if (!(error instanceof AppError)) return { code: errorNumbers.internal, message: "Internal error" };
  return {
    code: errorNumbers[error.code],
    message: error.message,
    ...defined({ data: error.data }),
  };
}

/** Whether a reply says that the caller has used up a limit. */
export function isOverQuota(reply: JsonRpcReply): boolean {
  return "error" in reply && reply.error.code === errorNumbers.quota_exceeded;
}

/** Where a reply says that there was no room for the call, or none left for its caller: after how long it may be tried again. */
export function retryAfterSeconds(reply: JsonRpcReply): number | undefined {
  if (!("error" in reply)) return undefined;
  if (reply.error.code !== errorNumbers.overloaded && !isOverQuota(reply)) return undefined;
  const { data } = reply.error;
  const seconds = typeof data === "object" && data !== null && "retryAfterSeconds" in data
    ? data.retryAfterSeconds
    : undefined;
  return typeof seconds === "number" ? seconds : 1;
}

/** Where a reply says that the caller's token lacks a scope: those that the call needs. */
export function neededScopes(reply: JsonRpcReply): readonly string[] | undefined {
  if (!("error" in reply) || reply.error.code !== errorNumbers.forbidden) return undefined;
  const { data } = reply.error;
  return typeof data === "object" && data !== null && "scopes" in data && Array.isArray(data.scopes)
    ? data.scopes.map(String)
    : undefined;
}

export function errorReply(id: RequestId, error: JsonRpcError): JsonRpcReply {
  return { jsonrpc: "2.0", id, error };
}

/** A reply as it goes over the wire. */
export function replyText(reply: JsonRpcReply | readonly JsonRpcReply[]): string {
  if (isBatch(reply)) return `[${reply.map(replyText).join(",")}]`;
  if (!("result" in reply) || !isPrepared(reply.result)) return JSON.stringify(reply);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(reply.id)},"result":${reply.result.preparedJson}}`;
}

function isBatch(reply: JsonRpcReply | readonly JsonRpcReply[]): reply is readonly JsonRpcReply[] {
  return Array.isArray(reply);
}

function isPrepared(result: unknown): result is PreparedResult {
  return typeof result === "object" && result !== null && "preparedJson" in result &&
    typeof result.preparedJson === "string";
}
