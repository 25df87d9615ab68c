import {
  type ElicitInputParams,
  inputRequired,
  type InputRequiredResult,
  ProtocolError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { CallClient, CallContext } from "../call_context.ts";
import type { UserQuestion } from "../questions/ask_user.ts";
import { createCallClients } from "./call_client.ts";
import { answerCall, callTool, callToolAsTask, type McpCall } from "./answer_call.ts";
import type { Params } from "./call_report.ts";
import type { ConnectionChanges } from "./connection_changes.ts";
import { instructionsFor } from "./instructions.ts";
import { capabilities, errorObject, errorReply, type JsonRpcReply } from "./json_rpc.ts";
import { addressIn, createMethods, type McpOptions, withCursor } from "./methods.ts";
import { takesTasks, taskMethods, tasksExtension } from "./task_methods.ts";
import type { Tasks } from "./tasks.ts";

interface SdkServerOptions {
  /** Told when a call has been answered, and of its error, before the reply is made. */
  readonly onCalled?: (reply?: JsonRpcReply) => void;
  /** How the client can be told of changes. Optional: without it, not at all. */
  readonly tells?: "in a stream" | ConnectionChanges | undefined;
  /** Optional: none where no call becomes one: they are for clients of revision 2026-07-28. */
  readonly tasks?: Tasks | undefined;
}

/** One MCP server object of the official SDK, serving the registries to one caller, whose signal aborts once they are gone. */
export function createSdkServer(
  options: McpOptions,
  caller: CallContext,
  { onCalled = () => {}, tells, tasks }: SdkServerOptions = {},
): Server {
  const { registry, serverInfo } = options;
  const { principal } = caller;
  const methods = createMethods(options);
  const server = new Server({ ...serverInfo }, {
    capabilities: {
      ...(tells === undefined ? capabilities : capabilitiesWithChanges),
      ...(tasks && { extensions: { ...capabilities.extensions, [tasksExtension]: {} } }),
    },
    instructions: instructionsFor(options, principal),
    cacheHints,
  });
  const callClient = createCallClients(server);

  function answer(
    method: string,
    handle: (params: Params, context: ServerContext) => object | Promise<object>,
  ): void {
    // the SDK's own check of params gives an internal error that names no field; `handle` checks them as it does for others
    server.setRequestHandler(method, { params: anyParams }, async (params, context) => {
      try {
        return { ...await handle(params, context) };
      } catch (thrown) {
        if (thrown instanceof ProtocolError) throw thrown;
        const { code, message, data } = errorObject(thrown);
        throw new ProtocolError(code, message, data);
      }
    });
  }

  /** Answers what can be cancelled, and what may tell its client how far it is. */
  function answerAsCall(
    method: McpCall["method"],
    handle: (call: McpCall & { readonly client: CallClient }, context: ServerContext) => Promise<object>,
  ): void {
    answer(method, async (params, context) => {
      const { id, signal, _meta: meta } = context.mcpReq;
      using client = callClient(context);
      // the SDK's own signal does not see every disconnect
      const untilGone = AbortSignal.any([signal, caller.signal]);
      try {
        const result = await handle({ method, params, id, meta, signal: untilGone, client }, context);
        onCalled();
        return result;
      } catch (thrown) {
        onCalled(errorReply(id, errorObject(thrown)));
        throw thrown;
      }
    });
  }
  function answerBy(
    method: McpCall["method"],
    run: (params: Params, call: CallContext, context: ServerContext) => Promise<object>,
  ): void {
    answerAsCall(
      method,
      (call, context) =>
        answerCall(options, call, caller, (untilGone) => run(call.params, untilGone, context)),
    );
  }

  answer("tools/list", ({ cursor }) => {
    const { items, nextCursor } = methods.listTools(cursor, principal);
    return { tools: items, ...withCursor(nextCursor) };
  });
  answerAsCall("tools/call", async (call, context) => {
    const result =
      tasks !== undefined && takesTasks(context) && registry.mayBecomeTask(String(call.params["name"]))
        ? await callToolAsTask(options, tasks, call, caller)
        : await callTool(options, call, caller);
    if ("taskId" in result) return { resultType: "task", ...result };
    return result.ask === undefined ? result : inputRequest(result.ask);
  });
  answer("resources/list", ({ cursor }) => methods.listResources(cursor, principal));
  answer("resources/templates/list", ({ cursor }) => methods.listTemplates(cursor, principal));
  answer("prompts/list", ({ cursor }) => methods.listPrompts(cursor, principal));
  answerBy("resources/read", async (params, call) => {
    const { contents, freshness } = await methods.readResource(params, call);
    return { contents, ...freshness };
  });
  answerBy("prompts/get", methods.getPrompt);
  answerBy("completion/complete", methods.complete);
  for (const { method, answer: handle } of tasks === undefined ? [] : taskMethods(tasks, principal)) {
    answerBy(method, (params, _call, context) => handle(params, context));
  }
  if (methods.ofDatabases !== undefined) {
    answerBy("pgedge/listDatabases", methods.ofDatabases.listDatabases);
    answerBy("pgedge/selectDatabase", methods.ofDatabases.selectDatabase);
  }
  if (typeof tells === "object") {
    // before 2026-07-28, over a connection
    answer("resources/subscribe", (params) => {
      tells.subscribe(addressIn(params));
      return {};
    });
    answer("resources/unsubscribe", (params) => {
      tells.unsubscribe(addressIn(params));
      return {};
    });
  }
  return server;
}

/** Whoever answers sends the whole call again, so there is no state to carry (MCP, Multi Round-Trip Requests). */
function inputRequest({ key, message, form }: UserQuestion): InputRequiredResult {
  // ours is deeply readonly, the SDK's is not
  const requestedSchema = form as ElicitInputParams["requestedSchema"];
  return inputRequired({ inputRequests: { [key]: inputRequired.elicit({ message, requestedSchema }) } });
}

const capabilitiesWithChanges = {
  ...capabilities,
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
} as const;

const anyParams = z.record(z.string(), z.unknown());

/**
 * What is offered depends on the caller, and a reload may change it. Whoever does not listen (MCP, Subscriptions) asks anew
 * after this time.
 */
const offered = { ttlMs: 60_000, cacheScope: "private" } as const;

const cacheHints = {
  "server/discover": offered,
  "tools/list": offered,
  "resources/list": offered,
  "resources/templates/list": offered,
  "prompts/list": offered,
};
