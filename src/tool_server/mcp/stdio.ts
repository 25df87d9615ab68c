import { serveStdio as serveSdkStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import { createConnectionChanges } from "./connection_changes.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

/**
 * Serves MCP over standard input and output: the caller is whoever started the process.
 * @param transport of those streams, unless others stand in their place
 */
export function serveStdio(
  options: McpOptions & { readonly logger: Logger; readonly tasks?: Tasks },
  transport: StdioServerTransport = new StdioServerTransport(),
) {
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
    onerror: (error) => options.logger.warn("Standard input or output failed", { error }),
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
    closed.resolve();
  };
  return {
    /** Resolves once the client has closed its end. */
    closed: closed.promise,
    close(): Promise<void> {
      gone.abort(new CallEnded("the server stops"));
      return handle.close();
    },
  };
}
