import { AppError } from "../../core/app_error.ts";
import type { CallContext, ToolDescription } from "../../core/tool.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import type { Registry } from "../tools/registry.ts";
import { errorObject, invalidRequest } from "./json_rpc_error.ts";
import { errorReply, type JsonRpcReply, type PreparedResult } from "./json_rpc_reply.ts";
import type { InFlight, RequestId } from "./in_flight.ts";
import { instructionsFor, type ServerInfo } from "./server_info.ts";

/** Bare JSON-RPC 2.0 over the registry: no initialize, no session. */
export interface JsonRpc {
  /** Answers a request, or a batch without a fault (`findBatchFault`); undefined where nothing in it asks for an answer. */
  answer(message: unknown, caller: CallContext): Promise<JsonRpcReply | JsonRpcReply[] | undefined>;
}

type Params = Readonly<Record<string, unknown>>;
type Method = (params: Params, caller: CallContext, id: RequestId) => unknown;

// the newest revision whose requests need no envelope of their own, and so can be bare
const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

export function createJsonRpc(
  options: { registry: Registry; inFlight: InFlight; serverInfo: ServerInfo },
): JsonRpc {
  const methods = createMethods(options);

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
      notify(message.method, message.params ?? {}, caller, options.inFlight);
      return undefined;
    }
    const method = methods.get(message.method);
    if (method === undefined) return errorReply(id, { code: -32601, message: "Method not found" });
    try {
      return { jsonrpc: "2.0", id, result: await method(message.params ?? {}, caller, id) };
    } catch (error) {
      if (!(error instanceof AppError)) caller.logger.error(`Method ${message.method} failed`, { error });
      return errorReply(id, errorObject(error));
    }
  }

  return {
    async answer(message, caller) {
      if (!Array.isArray(message)) return await answerOne(message, caller);
      const answers: Promise<JsonRpcReply | undefined>[] = [];
      await forEachInSlices(message, (item) => answers.push(answerOne(item, caller)));
      const answered = (await Promise.all(answers)).filter((reply) => reply !== undefined);
      return answered.length === 0 ? undefined : answered;
    },
  };
}

function createMethods(
  options: { registry: Registry; inFlight: InFlight; serverInfo: ServerInfo },
): ReadonlyMap<string, Method> {
  const { registry, inFlight, serverInfo } = options;
  const prepareList = createListPreparer();
  return new Map<string, Method>([
    ["initialize", ({ protocolVersion }, { principal }) => ({
      protocolVersion: protocolVersions.find((version) => version === protocolVersion) ?? protocolVersions[0],
      capabilities: { tools: {} },
      serverInfo,
      instructions: instructionsFor(registry.listTools(principal)),
    })],
    ["ping", () => ({})],
    ["tools/list", (_params, { principal }) => prepareList(registry.listTools(principal))],
    ["tools/call", ({ name, arguments: args = {} }, caller, id) => {
      if (typeof name !== "string") {
        throw new AppError("invalid", "Cannot call a tool: params.name must be a string");
      }
      if (!isObject(args)) {
        throw new AppError("invalid", "Cannot call a tool: params.arguments must be an object");
      }
      return inFlight.track(
        caller.principal,
        id,
        caller.signal,
        (signal) => registry.callTool(name, args, { ...caller, signal }),
      );
    }],
  ]);
}

// the same list is asked for over and over, and is long
function createListPreparer(): (tools: readonly ToolDescription[]) => PreparedResult {
  const prepared = new WeakMap<readonly ToolDescription[], PreparedResult>();
  return (tools) => {
    const known = prepared.get(tools);
    if (known !== undefined) return known;
    const result = { preparedJson: JSON.stringify({ tools }) };
    prepared.set(tools, result);
    return result;
  };
}

function notify(method: string, params: Params, { principal }: CallContext, inFlight: InFlight): void {
  if (method === "notifications/cancelled") inFlight.cancel(principal, params["requestId"]);
}

function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRequest(message: unknown): message is { method: string; params?: Params } {
  return isObject(message) && message["jsonrpc"] === "2.0" && typeof message["method"] === "string" &&
    (message["params"] === undefined || isObject(message["params"]));
}

function notRequest(detail: string) {
  return { code: invalidRequest, message: `Invalid Request: ${detail}` };
}

const invalidId = Symbol("invalid id");

// absent: a notification. A number that JavaScript cannot hold exactly could not be echoed as it came.
function idOf(message: unknown): RequestId | undefined | typeof invalidId {
  if (!isObject(message) || !Object.hasOwn(message, "id")) return undefined;
  const id = message["id"];
  if (
    id === null || typeof id === "string" ||
    (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER)
  ) {
    return id;
  }
  return invalidId;
}
