import {
  askedOf,
  bodyOf,
  demandKey,
  event,
  numberOf,
  type VendorReply,
  type VendorScript,
  type VendorWire,
  WireRefusal,
} from "./vendor_wire.ts";
import type { WireRequest } from "../http_connections.ts";

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

// 60 + 20 + 40 are the 120 tokens of the prompt
const inputUsage = { input_tokens: 60, cache_creation_input_tokens: 20, cache_read_input_tokens: 40 };

/** Claude API documentation: "Messages", "Streaming messages", "Errors", "List models". */
export const anthropicWire: VendorWire = {
  basePath: "",
  errorBody: (status, message) => ({
    type: "error",
    error: { type: errorTypes[status] ?? "api_error", message },
    request_id: "req_1",
  }),
  errorItem: (message) => event({ type: "error", error: { type: "overloaded_error", message } }, "error"),
  handle(request, script, key) {
    demandKey(request.headers.get("x-api-key"), key);
    if (request.headers.get("anthropic-version") !== "2023-06-01") {
      throw new WireRefusal(400, "anthropic-version: header is required");
    }
    switch (`${request.method} ${request.path.split("?")[0]}`) {
      case "GET /v1/models":
        return { status: 200, json: { data: [{ type: "model", id: "claude" }], has_more: false } };
      case "POST /v1/messages":
        return messages(request, script);
      default:
        throw new WireRefusal(404, "Not found");
    }
  },
};

function messages(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "max_tokens", "messages"],
    optional: ["system", "temperature", "stream"],
  });
  numberOf(body.max_tokens, "max_tokens");
  const pieces = script.answer(askedOf(body.model, body.system, body.messages));
  const stop_reason = script.isCut ? "max_tokens" : "end_turn";
  const shared = { id: "msg_1", type: "message", role: "assistant", model: body.model, stop_sequence: null };
  if (body.stream !== true) {
    const content = pieces.length === 0 ? [] : [{ type: "text", text: pieces.join("") }];
    return {
      status: 200,
      json: { ...shared, content, stop_reason, usage: { ...inputUsage, output_tokens: 7 } },
    };
  }
  const named = (data: { type: string; [member: string]: unknown }) => event(data, data.type);
  const usage = { ...inputUsage, output_tokens: 1 };
  return {
    contentType: "text/event-stream; charset=utf-8",
    items: [
      named({ type: "message_start", message: { ...shared, content: [], stop_reason: null, usage } }),
      named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      named({ type: "ping" }),
      ...pieces.map((text) =>
        named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
      ),
      named({ type: "content_block_stop", index: 0 }),
      named({
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 7 },
      }),
      named({ type: "message_stop" }),
    ],
  };
}
