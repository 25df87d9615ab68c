import process from "node:process";
import { finished, PassThrough, type Readable, Writable } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio as serveSdkStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { AppError } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { createConnectionChanges } from "./connection_changes.ts";
import { errorReply, invalidRequest } from "./json_rpc_error.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

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
