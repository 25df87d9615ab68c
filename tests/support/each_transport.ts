/** What a client posts for a call, over each transport over HTTP. */
export interface PostedCall {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** A call by each transport over HTTP, by the transport's name. */
export function overEachTransport(
  message: { readonly method: string; readonly params: Readonly<Record<string, unknown>> },
): Readonly<Record<string, PostedCall>> {
  const { params, ...rest } = message;
  const accept = "application/json, text/event-stream";
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    "bare JSON-RPC": { body: { ...message }, headers: {} },
    "an event stream": { body: { ...message }, headers: { accept, "mcp-protocol-version": "2025-06-18" } },
    "an envelope of its own": {
      body: { ...rest, params: { ...params, _meta } },
      headers: {
        accept,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": message.method,
        "mcp-name": String(params["name"] ?? params["uri"]),
      },
    },
  };
}
