import { EventSourceParserStream } from "eventsource-parser/stream";

/** Bare JSON-RPC, and Streamable HTTP as of 2026-07-28 and before it. */
export const ways = ["bare", "modern", "legacy"] as const;
export type Way = (typeof ways)[number];

/** What a client of 2026-07-28 says in each request. */
export function envelope(capabilities: object = {}) {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

interface Sent {
  readonly id?: number | string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Sends one request of MCP in the way given, and returns the response as it is. */
export function postMcp(
  url: string,
  way: Way,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { id = 1, headers = {}, signal }: Sent = {},
): Promise<Response> {
  const name = params["name"] ?? params["uri"];
  const ofWay = way === "bare" ? {} : {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": way === "modern" ? "2026-07-28" : "2025-11-25",
    ...(way === "modern" ? { "mcp-method": method } : {}),
    ...(way === "modern" && typeof name === "string" ? { "mcp-name": name } : {}),
  };
  const meta = way === "modern" ? { _meta: { ...envelope(), ...params["_meta"] as object | undefined } } : {};
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...ofWay, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, ...meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
}

export interface Reply {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** The reply to one request: the JSON body, or the last message of the event stream. */
export async function askMcp(...request: Parameters<typeof postMcp>): Promise<Reply> {
  const response = await postMcp(...request);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return await response.json();
  let last: Reply = {};
  for await (const message of messagesOf(response)) last = message;
  return last;
}

/** The messages of an event stream, as they come. */
export async function* messagesOf(response: Response) {
  if (response.body === null) return;
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new EventSourceParserStream(),
  );
  for await (const { data } of events) if (data !== "") yield JSON.parse(data);
}
