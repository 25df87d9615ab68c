import process from "node:process";
import { type Readable, Writable } from "node:stream";
import { serveStdio as serveSdkStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { AppError } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { createConnectionChanges } from "./connection_changes.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

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
  const transport = new StdioServerTransport(input, output);
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
      if (error !== outputError) options.logger.warn("Standard input failed", { error });
    },
  });
  const { onclose, onmessage } = transport;
  transport.onmessage = (message) => {
    tells?.notice(message);
    onmessage?.call(transport, message);
  };
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
