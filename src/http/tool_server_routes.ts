import { Hono } from "hono";
import type { Logger } from "../core/logger.ts";

export interface ToolServerRoutesOptions {
  readonly mcp: (request: Request, peer: string) => Promise<Response>;
  /** Says which configured databases cannot be reached. */
  readonly unreachableDatabases: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly server: { readonly name: string; readonly version: string };
  readonly logger: Logger;
}

/** What the listener tells the routes of a request besides the request itself. */
export interface RouteBindings {
  /** The address of the network peer. */
  readonly peer: string;
}

/** The tool server's routes. */
export function createToolServerRoutes(options: ToolServerRoutesOptions): Hono<{ Bindings: RouteBindings }> {
  const { server, logger } = options;
  const app = new Hono<{ Bindings: RouteBindings }>();

  app.all("/mcp/v1", (context) => options.mcp(context.req.raw, context.env.peer));
  app.get(
    "/health",
    (context) => context.json({ status: "ok", server: server.name, version: server.version }),
  );
  app.get("/ready", async (context) => {
    const unreachable = await options.unreachableDatabases(context.req.raw.signal);
    return unreachable.length === 0
      ? context.json({ status: "ready" })
      : context.json({ status: "unavailable", unreachable: unreachable.length }, 503);
  });
  app.on(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"], ["/health", "/ready"], (context) => {
    return context.json({ error: "Method Not Allowed" }, 405, { allow: "GET, HEAD" });
  });
  app.notFound((context) => context.json({ error: "Not Found" }, 404));
  app.onError((error, context) => {
    logger.error("Request failed", { method: context.req.method, path: context.req.path, error });
    return context.json({ error: "Internal Server Error" }, 500);
  });
  return app;
}
