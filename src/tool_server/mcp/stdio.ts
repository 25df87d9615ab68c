import process from "node:process";
import { finished, PassThrough, type Readable, Writable } from "node:stream";
import { type JSONRPCMessage, ProtocolError, Server, type ServerContext } from "@modelcontextprotocol/server";
import { serveStdio as serveSdkStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { AppError } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { type ConnectionChanges, createConnectionChanges } from "./change_streams.ts";
import { answerError, errorReply, invalidRequest } from "./json_rpc_error.ts";
import { addressIn, createMethods, type McpOptions } from "./methods.ts";
import type { Tasks } from "./tasks.ts";
import { type CallContext, withSignal } from "../call_context.ts";
import { createCallClients } from "./call_client.ts";
import { callMethods, type Params } from "./answer_call.ts";
import { cacheHints, capabilitiesOf, instructionsFor } from "./json_rpc.ts";

const notMessage = "expected one request or notification of JSON-RPC; batches are for HTTP";

/** How long what was asked may take once its client has closed standard input, as a pipe does at its end. */
const lastAnswersMs = 5_000;

/**
 * Serves MCP over standard input and output: the caller is whoever started the process.
 * @param streams stand in the place of those
 */
export function serveStdio(
  options: McpOptions & { readonly logger: Logger; readonly tasks?: Tasks },
  { input, output }: { readonly input: Readable; readonly output: Writable } = {
    input: process.stdin,
    output: standardOutput(),
  },
) {
  const messages = new PassThrough();
  const transport = new StdioServerTransport(messages, output);
  let outputError: Error | undefined;
  output.once("error", (error) => outputError = error);
  const closed = Promise.withResolvers<void>();
  const gone = new AbortController();
  const principal = { kind: "local" } as const;
  const tells = options.changes && createConnectionChanges(options.changes, principal);
  const handle = serveSdkStdio((served) => {
    const server = createSdkServer(options, { principal, logger: options.logger, signal: gone.signal }, {
      tells,
      tasks: served["era"] === "modern" ? options.tasks : undefined,
    });
    tells?.attach(server);
    return server;
  }, {
    transport,
    maxSubscriptions: 100,
    onerror: (error) => {
      if (error === outputError) return;
      if (!(error instanceof z.core.$ZodError)) {
        return options.logger.warn("Standard input failed", { error });
      }
      // the SDK has checked the message; a faulty one has no id that it would tell
      options.logger.warn(`A line of standard input is refused: ${notMessage}`);
      const refused = errorReply(null, { code: invalidRequest, message: `Invalid Request: ${notMessage}` });
      void transport.send(refused as JSONRPCMessage).catch(() => {});
    },
  });
  const { onclose, onmessage } = transport;
  const unanswered = new Set<unknown>();
  let hasEnded = false;
  const endIfAnswered = () => hasEnded && unanswered.size === 0 && messages.end();
  transport.onmessage = (message) => {
    tells?.notice(message);
    // a stream has no end of its own
    if ("id" in message && "method" in message && message.method !== "subscriptions/listen") {
      unanswered.add(message.id);
    }
    onmessage?.call(transport, message);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!("method" in message) && unanswered.delete(message.id)) endIfAnswered();
  };
  input.pipe(messages, { end: false });
  finished(input, { writable: false }, () => {
    hasEnded = true;
    // after the last messages were read
    setTimeout(endIfAnswered);
    Deno.unrefTimer(setTimeout(() => messages.end(), lastAnswersMs));
  });
  transport.onclose = () => {
    onclose?.call(transport);
    gone.abort();
    tells?.close();
    if (outputError === undefined) return closed.resolve();
    const message = "Cannot write to standard output: its client has closed it, or the system refused";
    closed.reject(new AppError("unavailable", message, { cause: outputError }));
  };
  return {
    /** Resolves once the client has closed standard input. @throws AppError `unavailable` where nobody can be answered */
    closed: closed.promise,
    close(): Promise<void> {
      gone.abort(new CallEnded("the server stops"));
      return handle.close();
    },
  };
}

/** Deno 2.4 tells nobody of a write to `process.stdout` that failed, so the server would go on for no client. */
function standardOutput(): Writable {
  return new Writable({
    write(bytes: Uint8Array, _encoding, done) {
      writeWhole(bytes).then(() => done(), done);
    },
  });
}

async function writeWhole(bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await Deno.stdout.write(rest));
}

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
