import { browser } from "./page_dom.ts";

/** The revision of MCP Apps that the page speaks. */
const protocolVersion = "2026-01-26";

type Params = Readonly<Record<string, unknown>>;

/** Calls a tool of the server through the host. */
export type CallTool = (name: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>;

/**
 * JSON-RPC with the host that shows the page (MCP Apps, "Communication Protocol"). Only the window around the page is
 * listened to; its origin is not known, so what is said to it holds no more than it gave.
 */
export function createHostLink({ onNotification }: {
  /** Told of each notification of the host's. */
  readonly onNotification: (method: string, params: Params) => void;
}) {
  const { parent } = browser;
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = 0;
  const send = (message: Params) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function request(method: string, params: Params): Promise<unknown> {
    const id = ++lastId;
    const reply = Promise.withResolvers<unknown>();
    waiting.set(id, reply);
    send({ id, method, params });
    return reply.promise;
  }

  browser.addEventListener("message", ({ source, data }) => {
    if (source !== parent || !isObject(data) || data["jsonrpc"] !== "2.0") return;
    const { id, method, params } = data;
    if (typeof method === "string") {
      if (id === undefined) return onNotification(method, isObject(params) ? params : {});
      // the page has nothing to save before it goes
      const isKnown = method === "ping" || method === "ui/resource-teardown";
      return send(
        isKnown ? { id, result: {} } : { id, error: { code: -32601, message: "Method not found" } },
      );
    }
    const reply = typeof id === "number" ? waiting.get(id) : undefined;
    if (reply === undefined) return;
    waiting.delete(Number(id));
    if (isObject(data["error"])) reply.reject(new Error(String(data["error"]["message"])));
    else reply.resolve(data["result"]);
  });

  return {
    request,
    notify: (method: string, params: Params = {}) => send({ method, params }),
    /** Returns what the host can do, and how it looks. */
    async initialize(): Promise<{ readonly capabilities: Params; readonly context: Params }> {
      const result = await request("ui/initialize", {
        appInfo: { name: "postern", title: "Postern", version: "1" },
        appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
        protocolVersion,
      });
      const { hostCapabilities, hostContext } = isObject(result) ? result : {};
      send({ method: "ui/notifications/initialized", params: {} });
      return {
        capabilities: isObject(hostCapabilities) ? hostCapabilities : {},
        context: isObject(hostContext) ? hostContext : {},
      };
    },
  };
}

export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
