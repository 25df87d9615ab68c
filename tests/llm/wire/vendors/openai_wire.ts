import type { WireRequest } from "../http_connections.ts";
import {
  askedOf,
  base64Floats,
  bodyOf,
  demandKey,
  event,
  numberOf,
  splitSystem,
  textsOf,
  type VendorReply,
  type VendorScript,
  type VendorWire,
  WireRefusal,
} from "./vendor_wire.ts";

const usage = {
  prompt_tokens: 120,
  completion_tokens: 7,
  total_tokens: 127,
  prompt_tokens_details: { cached_tokens: 40, audio_tokens: 0 },
};

/** OpenAI API reference: "Chat Completions", "Embeddings", "Models"; guide "Error codes". */
export const openaiWire: VendorWire = {
  basePath: "/v1",
  errorBody: (status, message) => ({
    error: {
      message,
      type: status === 429 ? "rate_limit_exceeded" : status >= 500 ? "server_error" : "invalid_request_error",
      param: null,
      code: status === 401 ? "invalid_api_key" : null,
    },
  }),
  errorItem: (message) =>
    event({ error: { message, type: "server_error", param: null, code: "server_error" } }),
  handle(request, script, key) {
    demandKey(request.headers.get("authorization"), key && `Bearer ${key}`);
    switch (`${request.method} ${request.path}`) {
      case "GET /v1/models":
        return { status: 200, json: { object: "list", data: [{ id: "gpt-5", object: "model" }] } };
      case "POST /v1/chat/completions":
        return chat(request, script);
      case "POST /v1/embeddings":
        return embeddings(request, script);
      default:
        throw new WireRefusal(404, `Invalid URL (${request.method} ${request.path})`);
    }
  },
};

function chat(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "messages"],
    optional: ["max_completion_tokens", "max_tokens", "temperature", "stream", "stream_options"],
  });
  const isReasoning = String(body.model).startsWith("gpt-5");
  const refused = ["max_tokens", "temperature"].find((name) => isReasoning && body[name] !== undefined);
  if (refused) throw new WireRefusal(400, `Unsupported parameter: '${refused}'`);
  const { system, rest } = splitSystem(body.messages);
  const pieces = script.answer(askedOf(body.model, system, rest));
  const finish_reason = script.isCut ? "length" : "stop";
  const shared = { id: "chatcmpl-1", created: 1, model: body.model };
  if (body.stream !== true) {
    const message = { role: "assistant", content: pieces.join(""), refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason }];
    return { status: 200, json: { ...shared, object: "chat.completion", choices, usage } };
  }
  const chunk = (rest: Record<string, unknown>) =>
    event({ ...shared, object: "chat.completion.chunk", usage: null, ...rest });
  const choice = (delta: unknown, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
  const wantsUsage = JSON.stringify(body.stream_options) === '{"include_usage":true}';
  return {
    contentType: "text/event-stream; charset=utf-8",
    items: [
      choice({ role: "assistant", content: "", refusal: null }),
      ...pieces.map((content) => choice({ content })),
      choice({}, finish_reason),
      ...(wantsUsage ? [chunk({ choices: [], usage })] : []),
      event("[DONE]"),
    ],
  };
}

function embeddings(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "input"],
    optional: ["dimensions", "encoding_format", "user"],
  });
  // one text need not come in a list
  const input = textsOf(typeof body.input === "string" ? [body.input] : body.input, "input", 2048);
  const vectors = script.embed(input, numberOf(body.dimensions, "dimensions"));
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: body.encoding_format === "base64" ? base64Floats(vector) : vector,
  }));
  const tokens = input.length * 3;
  return {
    status: 200,
    json: { object: "list", data, model: body.model, usage: { prompt_tokens: tokens, total_tokens: tokens } },
  };
}
