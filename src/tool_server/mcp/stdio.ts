import { serveStdio as serveSdkStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { CallEnded } from "../../core/async/abort.ts";
import type { Logger } from "../../core/logger.ts";
import type { McpOptions } from "./methods.ts";
import { createSdkServer } from "./sdk_server.ts";
import type { Tasks } from "./tasks.ts";

/** Serves MCP over standard input and output: the caller is whoever started the process. */
export function serveStdio(options: McpOptions & { readonly logger: Logger; readonly tasks?: Tasks }) {
  const closed = Promise.withResolvers<void>();
  const gone = new AbortController();
  const transport = new StdioServerTransport();
  const handle = serveSdkStdio(
    (served) => {
      const caller = { principal: { kind: "local" }, logger: options.logger, signal: gone.signal } as const;
      return createSdkServer(
        options,
        caller,
        undefined,
        served["era"] === "modern" ? options.tasks : undefined,
      );
    },
    { transport, onerror: (error) => options.logger.warn("Standard input or output failed", { error }) },
  );
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.call(transport);
    gone.abort();
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
