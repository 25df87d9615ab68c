import { defined } from "../../core/defined.ts";
import { CLIENT_CAPABILITIES_META_KEY, type Server, type ServerContext } from "@modelcontextprotocol/server";
import type { CallClient } from "../call_context.ts";
import { viewExtension, viewMimeType } from "../view/view_resource.ts";

/**
 * What the clients of a server object's requests can do. A client says so in each request since revision 2026-07-28, and
 * before it once for a connection. An older client over HTTP has no connection: it counts as one that can do nothing.
 * Once one is disposed of, the request is answered, and nothing more is told (MCP, Progress).
 */
export function createCallClients(server: Server): (context: ServerContext) => CallClient & Disposable {
  // a request that the SDK asks back for, before 2026-07-28, is handled again, and its progress goes on
  const lastTold = new WeakMap<AbortSignal, number>();
  return ({ mcpReq, http }) => {
    let isAnswered = false;
    const capabilities = member(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY) ??
      server.getClientCapabilities();
    const token = member(mcpReq._meta, "progressToken");
    const isAsked = typeof token === "string" || typeof token === "number";
    return {
      notifyProgress: isAsked ? progressNotifier(mcpReq, token, lastTold, () => isAnswered) : undefined,
      canAsk: takesForms(member(capabilities, "elicitation")),
      answers: mcpReq.inputResponses,
      showsViews: namesViews(member(member(capabilities, "extensions"), viewExtension)),
      takesLinks: mcpReq.envelope !== undefined || knowsLinks(
        server.getNegotiatedProtocolVersion() ?? http?.req?.headers.get("mcp-protocol-version"),
      ),
      [Symbol.dispose]() {
        isAnswered = true;
      },
    };
  };
}

function progressNotifier(
  mcpReq: ServerContext["mcpReq"],
  progressToken: string | number,
  lastTold: WeakMap<AbortSignal, number>,
  isAnswered: () => boolean,
): NonNullable<CallClient["notifyProgress"]> {
  const { signal } = mcpReq;
  return (progress, total, message) => {
    if (!(progress > (lastTold.get(signal) ?? -Infinity)) || isAnswered() || signal.aborted) return;
    lastTold.set(signal, progress);
    const params = { progressToken, progress, ...defined({ total }), message };
    // whoever has gone is told nothing
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}

// "form" was the only way before revision 2025-11-25, whose clients name nothing
function takesForms(elicitation: unknown): boolean {
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}

// who names no revision over HTTP speaks the one before (MCP 2025-06-18, Protocol Version Header)
function knowsLinks(revision: string | null | undefined): boolean {
  return revision !== null && revision !== undefined && revision >= "2025-06-18";
}

function namesViews(extension: unknown): boolean {
  const mimeTypes = member(extension, "mimeTypes");
  return Array.isArray(mimeTypes) && mimeTypes.includes(viewMimeType);
}

/** A member of what may be no object; undefined where it is not there. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
