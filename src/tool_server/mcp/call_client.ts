import { CLIENT_CAPABILITIES_META_KEY, type Server, type ServerContext } from "@modelcontextprotocol/server";
import { defined } from "../../core/defined.ts";
import { isMap, valueAt } from "../../core/yaml/value_tree.ts";
import type { CallClient, JsonObject } from "../call_context.ts";
import { viewExtension, viewMimeType } from "../view/view_resource.ts";
import { linksSince } from "./protocol_version.ts";
import { tasksExtension } from "./tasks.ts";

/** What a request, or its connection, tells of the client. */
interface ClientFacts {
  /** The request's `params._meta`. */
  readonly meta: unknown;
  /** Optional: what it said that it can do. */
  readonly capabilities?: unknown;
  /** Optional: the answers to questions of an earlier call. */
  readonly answers?: JsonObject | undefined;
  readonly takesLinks: boolean;
  /** Sends a notification while the request is answered; whoever has gone is told nothing. */
  readonly notify: (notification: ProgressNotification) => void;
}

/** MCP, Progress. */
export interface ProgressNotification {
  readonly method: "notifications/progress";
  readonly params: {
    readonly progressToken: string | number;
    readonly progress: number;
    readonly total?: number;
    readonly message: string | undefined;
  };
}

/** What the client of a call can do. `told`: how far the call was before, where it is handled again. */
export function callClientOf(facts: ClientFacts, told = { progress: -Infinity }): CallClient {
  const { meta, capabilities, answers, takesLinks, notify } = facts;
  const progressToken = valueAt(meta, ["progressToken"]);
  // a number that JavaScript cannot hold exactly could not be told as it came
  const isAsked = typeof progressToken === "string" ||
    (typeof progressToken === "number" && Math.abs(progressToken) <= Number.MAX_SAFE_INTEGER);
  const extensions = valueAt(capabilities, ["extensions"]);
  return {
    notifyProgress: !isAsked ? undefined : (progress, total, message) => {
      if (!(progress > told.progress)) return;
      told.progress = progress;
      notify({
        method: "notifications/progress",
        params: { progressToken, progress, ...defined({ total }), message },
      });
    },
    canAsk: takesForms(valueAt(capabilities, ["elicitation"])),
    answers,
    showsViews: namesViews(valueAt(extensions, [viewExtension])),
    takesLinks,
    takesTasks: valueAt(extensions, [tasksExtension]) !== undefined,
  };
}

/**
 * What the client of a server object's requests can do. It says so in each request since revision 2026-07-28, and before it
 * once for a connection. Once one is disposed of, the request is answered, and nothing more is told (MCP, Progress).
 */
export function createCallClients(server: Server): (context: ServerContext) => CallClient & Disposable {
  // a request that the SDK asks back for, before 2026-07-28, is handled again, and its progress goes on
  const toldOf = new WeakMap<AbortSignal, { progress: number }>();
  return ({ mcpReq }) => {
    let isAnswered = false;
    const { signal, envelope } = mcpReq;
    const told = toldOf.get(signal) ?? { progress: -Infinity };
    toldOf.set(signal, told);
    const revision = server.getNegotiatedProtocolVersion();
    return {
      ...callClientOf({
        meta: mcpReq._meta,
        capabilities: valueAt(envelope, [CLIENT_CAPABILITIES_META_KEY]) ?? server.getClientCapabilities(),
        answers: mcpReq.inputResponses,
        takesLinks: envelope !== undefined || (revision !== undefined && revision >= linksSince),
        notify(notification) {
          if (!isAnswered && !signal.aborted) mcpReq.notify({ ...notification }).catch(() => {});
        },
      }, told),
      [Symbol.dispose]() {
        isAnswered = true;
      },
    };
  };
}

// "form" was the only way before revision 2025-11-25, whose clients name nothing
function takesForms(elicitation: unknown): boolean {
  return isMap(elicitation) && ("form" in elicitation || !("url" in elicitation));
}

function namesViews(extension: unknown): boolean {
  const mimeTypes = valueAt(extension, ["mimeTypes"]);
  return Array.isArray(mimeTypes) && mimeTypes.includes(viewMimeType);
}
