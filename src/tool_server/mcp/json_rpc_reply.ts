import type { RequestId } from "./in_flight.ts";
import type { JsonRpcError } from "./json_rpc_error.ts";

export type JsonRpcReply =
  & { readonly jsonrpc: "2.0"; readonly id: RequestId }
  & ({ readonly result: unknown } | { readonly error: JsonRpcError });

/** A result whose JSON is known already, because it is the same for every call. */
export interface PreparedResult {
  readonly preparedJson: string;
}

/** A reply as it goes over the wire. */
export function replyText(reply: JsonRpcReply | readonly JsonRpcReply[]): string {
  if (isBatch(reply)) return `[${reply.map(replyText).join(",")}]`;
  const prepared = "result" in reply ? preparedOf(reply.result) : undefined;
  if (prepared === undefined) return JSON.stringify(reply);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(reply.id)},"result":${prepared}}`;
}

function isBatch(reply: JsonRpcReply | readonly JsonRpcReply[]): reply is readonly JsonRpcReply[] {
  return Array.isArray(reply);
}

function preparedOf(result: unknown): string | undefined {
  return typeof result === "object" && result !== null && "preparedJson" in result &&
      typeof result.preparedJson === "string"
    ? result.preparedJson
    : undefined;
}

export function errorReply(id: RequestId, error: JsonRpcError): JsonRpcReply {
  return { jsonrpc: "2.0", id, error };
}
