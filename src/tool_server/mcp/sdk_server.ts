import { ProtocolError, Server, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type CallContext, withSignal } from "../call_context.ts";
import { createCallClients } from "./call_client.ts";
import { callMethods } from "./answer_call.ts";
import type { Params } from "./call_report.ts";
import type { ConnectionChanges } from "./connection_changes.ts";
import { instructionsFor } from "./instructions.ts";
import { cacheHints, capabilitiesOf } from "./json_rpc.ts";
import { answerError } from "./json_rpc_error.ts";
import { addressIn, createMethods, type McpOptions } from "./methods.ts";
import type { Tasks } from "./tasks.ts";

/**
 * One MCP server object of the official SDK, serving the registries to the one caller of a connection, whose signal aborts
 * once they are gone.
 */
export function createSdkServer(
  options: McpOptions,
  caller: CallContext,
  { tells, tasks }: {
    /** How the client can be told of changes. Optional: without it, not at all. */
    readonly tells?: ConnectionChanges | undefined;
    /** Optional: none where no call becomes one: they are for clients of revision 2026-07-28. */
    readonly tasks?: Tasks | undefined;
  } = {},
): Server {
  const { principal } = caller;
  const server = new Server({ ...options.serverInfo }, {
    capabilities: capabilitiesOf({ tasks, tells: tells !== undefined }),
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
        const { code, message, data } = answerError(thrown, method, caller.logger);
        throw new ProtocolError(code, message, data);
      }
    });
  }

  for (const [method, handle] of createMethods(options, tasks)) {
    answer(method, async (params, context) => {
      const { id, signal, _meta } = context.mcpReq;
      if (!callMethods.some((call) => call === method)) return await handle(params, caller, id);
      using client = callClient(context);
      // the SDK's own signal does not see every disconnect
      const untilGone = AbortSignal.any([signal, caller.signal]);
      return await handle({ ...params, _meta }, withSignal(caller, untilGone, caller.span, client), id);
    });
  }
  if (tells !== undefined) {
    // before 2026-07-28, over a connection
    answer("resources/subscribe", (params) => {
      tells.subscribe(addressIn(params, "subscribe to"));
      return {};
    });
    answer("resources/unsubscribe", (params) => {
      tells.unsubscribe(addressIn(params, "unsubscribe from"));
      return {};
    });
  }
  return server;
}

const anyParams = z.record(z.string(), z.unknown());
