import { Buffer } from "node:buffer";
import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";
import type { RequestId } from "../../calls/calls_under_way.ts";
import { defined } from "../../core/defined.ts";
import { isMap } from "../../core/yaml/value_tree.ts";
import type { Params } from "./answer_call.ts";
import {
  errorReply,
  headerMismatch,
  invalidRequest,
  type JsonRpcError,
  type JsonRpcReply,
  transportFault,
} from "./json_rpc_error.ts";

/** The revision whose requests have an envelope. */
export const currentVersion = "2026-07-28";

/** The revisions before it, the newest first. */
const olderVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;

/** The first revision whose clients know links to resources in results; others refuse the whole result. */
export const linksSince = "2025-06-18";

/**
 * The revision that `initialize` is answered with: the one asked for where it is known, else the newest (MCP, Lifecycle,
 * "Version Negotiation").
 */
export function versionFor(asked: unknown): string {
  return olderVersions.find((version) => version === asked) ?? olderVersions[0];
}

/** How a message over HTTP is to be answered. */
export type Exchange =
  /** Bare JSON-RPC, which is the same in all revisions before 2026-07-28. */
  | { readonly kind: "bare" }
  /** Of MCP's Streamable HTTP, before 2026-07-28. */
  | { readonly kind: "older"; readonly takesLinks: boolean }
  /** Of 2026-07-28, with the request's `params`; not every client takes event streams. */
  | { readonly kind: "now"; readonly params: Params; readonly takesEvents: boolean }
  /** With 202 and nothing more. */
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly status: 400 | 406; readonly reply: JsonRpcReply };

/**
 * Reads off a request's headers and message which revision it speaks (MCP, Streamable HTTP). A client that takes no event
 * streams and names no revision since 2026-07-28 speaks bare JSON-RPC.
 */
export function exchangeOf(headers: Headers, message: unknown): Exchange {
  const accept = headers.get("accept") ?? "";
  const version = headers.get("mcp-protocol-version");
  const isNow = version !== null && version.trim() >= currentVersion;
  const takesEvents = accept.includes("text/event-stream");
  if (!takesEvents && !isNow) return { kind: "bare" };
  const params = isMap(message) && isMap(message["params"]) ? message["params"] : {};
  const meta = isMap(params["_meta"]) ? params["_meta"] : undefined;
  if (
    isMap(message) && "method" in message &&
    (isNow || meta !== undefined && PROTOCOL_VERSION_META_KEY in meta)
  ) {
    return exchangeOfNow(headers, message, { params, meta, takesEvents });
  }
  if (Array.isArray(message) && message.some(hasEnvelope)) {
    const reason = "JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later";
    return refused(null, { code: invalidRequest, message: `Bad Request: ${reason}` });
  }
  const isInitialize = isMap(message) && message["method"] === "initialize";
  if (version !== null && !isInitialize && !olderVersions.some((known) => known === version)) {
    const known = olderVersions.join(", ");
    return refused(null, {
      code: transportFault,
      message: `Bad Request: Unsupported protocol version: ${version} (supported versions: ${known})`,
    });
  }
  if (!/application\/(?:json|\*)|\*\/\*/.test(accept)) {
    const message = "Not Acceptable: Client must accept both application/json and text/event-stream";
    return refused(null, { code: transportFault, message }, 406);
  }
  const isResponse = isMap(message) && !("method" in message) && ("result" in message || "error" in message);
  // who names no revision speaks the one before (MCP 2025-06-18, Protocol Version Header)
  return isResponse
    ? { kind: "accepted" }
    : { kind: "older", takesLinks: version !== null && version >= linksSince };
}

function exchangeOfNow(
  headers: Headers,
  message: Params,
  { params, meta, takesEvents }: {
    readonly params: Params;
    readonly meta: Params | undefined;
    readonly takesEvents: boolean;
  },
): Exchange {
  const id = typeof message["id"] === "string" || typeof message["id"] === "number" ? message["id"] : null;
  const named = routingHeaders(headers);
  const version = meta?.[PROTOCOL_VERSION_META_KEY];
  const isPlain = version === currentVersion && named.protocolVersionHeader === version &&
    named.mcpMethodHeader === message["method"] && isPlainEnvelope(meta);
  // the SDK finds each fault that there can be, and takes long for it
  const read = isPlain
    ? undefined
    : classifyInboundRequest({ ...defined(named), httpMethod: "POST", body: message });
  if (read?.kind === "reject") {
    return refused(id, { code: read.code, message: read.message, data: read.data });
  }
  if (!("id" in message)) return { kind: "accepted" };
  if (version !== currentVersion) {
    const requested = String(version);
    const { code, message, data } = new UnsupportedProtocolVersionError({
      supported: [currentVersion],
      requested,
    });
    return refused(id, { code, message, data });
  }
  const mismatch = headerFault(named, String(message["method"]), params);
  return mismatch === undefined ? { kind: "now", params, takesEvents } : refused(id, mismatch);
}

function routingHeaders(headers: Headers) {
  return {
    protocolVersionHeader: headers.get("mcp-protocol-version") ?? undefined,
    mcpMethodHeader: headers.get("mcp-method") ?? undefined,
    mcpNameHeader: headers.get("mcp-name") ?? undefined,
  };
}

/** Whether an envelope is as most are: with nothing in it that may be wrong. */
function isPlainEnvelope(meta: Params | undefined): boolean {
  if (meta === undefined) return false;
  const client = meta[CLIENT_INFO_META_KEY];
  return isMap(meta[CLIENT_CAPABILITIES_META_KEY]) && !("io.modelcontextprotocol/logLevel" in meta) &&
    (client === undefined ||
      (isMap(client) && typeof client["name"] === "string" && typeof client["version"] === "string"));
}

/** What the header `Mcp-Name` repeats (SEP-2243, SEP-2663). */
const namedBy: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** What of the headers that proxies route by is missing or says something else than the body (SEP-2243). */
function headerFault(
  { protocolVersionHeader, mcpMethodHeader, mcpNameHeader }: ReturnType<typeof routingHeaders>,
  method: string,
  params: Params,
): JsonRpcError | undefined {
  const missing = (body: string, header: string) =>
    mismatch("(missing)", `the body ${body} but the required ${header} header is absent`);
  if (protocolVersionHeader === undefined) {
    return missing(`envelope names protocol version ${currentVersion}`, "MCP-Protocol-Version");
  }
  if (mcpMethodHeader === undefined) return missing(`names method ${method}`, "Mcp-Method");
  const field = namedBy.get(method);
  if (field === undefined) return undefined;
  const value = params[field];
  // what is no string is refused by the method
  const inBody = typeof value === "string" ? `carries params.${field}="${value}"` : undefined;
  if (mcpNameHeader === undefined) return inBody === undefined ? undefined : missing(inBody, "Mcp-Name");
  const name = decodedName(mcpNameHeader);
  if (name === undefined) {
    return mismatch(mcpNameHeader, "the Mcp-Name header carries an invalid Base64 sentinel value");
  }
  return inBody === undefined || name === value
    ? undefined
    : mismatch(mcpNameHeader, `the body ${inBody} but the Mcp-Name header names "${name}"`);
}

function mismatch(header: string, body: string): JsonRpcError {
  return {
    code: headerMismatch,
    message: `Bad Request: the request headers and body disagree: ${body}`,
    data: { mismatch: { header, body } },
  };
}

/** What no header may hold comes as UTF-8 in base64, between two marks (SEP-2243); undefined where that is not base64. */
function decodedName(header: string): string | undefined {
  const name = header.trim();
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(name) ?? [];
  if (encoded === undefined) return name;
  const bytes = Buffer.from(encoded, "base64");
  // as only one text is written, or a proxy could read another
  if (bytes.toString("base64") !== encoded) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function hasEnvelope(message: unknown): boolean {
  const meta = isMap(message) && isMap(message["params"]) ? message["params"]["_meta"] : undefined;
  return isMap(meta) && PROTOCOL_VERSION_META_KEY in meta;
}

function refused(id: RequestId, error: JsonRpcError, status: 400 | 406 = 400): Exchange {
  return { kind: "refused", status, reply: errorReply(id, error) };
}
