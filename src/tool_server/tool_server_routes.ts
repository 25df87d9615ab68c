import { Hono } from "hono";
import type { Logger } from "../core/logger.ts";
import type { RouteBindings } from "../http/listener.ts";

export interface ToolServerRoutesOptions {
  readonly mcp: (request: Request, peer: string) => Promise<Response>;
  /** Says which configured databases cannot be reached. */
  readonly unreachableDatabases: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly server: { readonly name: string; readonly version: string };
  readonly logger: Logger;
}

export interface ToolServerRoutes {
  fetch(request: Request, bindings: RouteBindings): Response | Promise<Response>;
  /** Answers a request whose Host or Origin is not allowed: probes know no host name, and read nothing secret. */
  refuse(request: Request, refusedFor: "host" | "origin"): Response | Promise<Response>;
}

/** The tool server's routes. */
export function createToolServerRoutes(options: ToolServerRoutesOptions): ToolServerRoutes {
  const app = new Hono<{ Bindings: RouteBindings }>();
  app.all("/mcp/v1", (context) => options.mcp(context.req.raw, context.env.peer));
  addProbes(app, options);
  app.notFound((context) => context.json({ error: "Not Found" }, 404));

  const otherHosts = new Hono<{ Bindings: RouteBindings }>();
  addProbes(otherHosts, options);
  otherHosts.notFound((context) => context.json({ error: refusals.host }, 403));

  return {
    fetch: (request, bindings) => app.fetch(request, bindings),
    refuse: (request, refusedFor) =>
      refusedFor === "host"
        ? otherHosts.fetch(request)
        : Response.json({ error: refusals.origin }, { status: 403 }),
  };
}

const refusals = {
  host:
    "Forbidden: the Host header names a host that this server is not called by; behind a proxy that passes " +
    "Host on, list the proxy's host name in http.allowed_hosts",
  origin: "Forbidden: the Origin header names a web page that may not call this server; list its origin in " +
    "http.allowed_origins",
} as const;

function addProbes(
  app: Hono<{ Bindings: RouteBindings }>,
  { server, unreachableDatabases, logger }: ToolServerRoutesOptions,
): void {
  app.get(
    "/health",
    (context) => context.json({ status: "ok", server: server.name, version: server.version }),
  );
  app.get("/ready", async (context) => {
    const unreachable = await unreachableDatabases(context.req.raw.signal);
    return unreachable.length === 0
      ? context.json({ status: "ready" })
      : context.json({ status: "unavailable", unreachable: unreachable.length }, 503);
  });
  app.on(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"], ["/health", "/ready"], (context) => {
    return context.json({ error: "Method Not Allowed" }, 405, { allow: "GET, HEAD" });
  });
  app.onError((error, context) => {
    logger.error("Request failed", { method: context.req.method, path: context.req.path, error });
    return context.json({ error: "Internal Server Error" }, 500);
  });
}
