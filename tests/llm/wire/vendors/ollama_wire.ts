import type { WireRequest } from "../http_connections.ts";
import {
  askedOf,
  bodyOf,
  demandKey,
  membersOf,
  numberOf,
  splitSystem,
  textsOf,
  type VendorReply,
  type VendorScript,
  type VendorWire,
  WireRefusal,
} from "./vendor_wire.ts";

/** Ollama documentation, API: "Generate a chat message", "Generate embeddings", "Streaming", "Errors". */
export const ollamaWire: VendorWire = {
  basePath: "",
  errorBody: (_status, message) => ({ error: message }),
  errorItem: (message) => line({ error: message }),
  handle(request, script, key) {
    demandKey(request.headers.get("authorization"), key && `Bearer ${key}`);
    switch (`${request.method} ${request.path}`) {
      case "GET /api/tags":
        return { status: 200, json: { models: [] } };
      case "POST /api/chat":
        return chat(request, script);
      case "POST /api/embed":
        return embeddings(request, script);
      default:
        throw new WireRefusal(404, "404 page not found");
    }
  },
};

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function chat(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, { required: ["model", "messages"], optional: ["stream", "options"] });
  if (body.options !== undefined) {
    membersOf(body.options, { required: [], optional: ["num_ctx", "num_predict", "temperature"] });
  }
  const { system, rest } = splitSystem(body.messages);
  const pieces = script.answer(askedOf(body.model, system, rest));
  const said = (content: string) => ({
    model: body.model,
    created_at: "2026-01-01T00:00:00Z",
    message: { role: "assistant", content },
  });
  const last = {
    done: true,
    done_reason: script.isCut ? "length" : "stop",
    total_duration: 1,
    prompt_eval_count: 120,
    eval_count: 7,
  };
  // streaming is what this interface does unless it is told not to
  if (body.stream === false) return { status: 200, json: { ...said(pieces.join("")), ...last } };
  return {
    contentType: "application/x-ndjson",
    items: [
      ...pieces.map((piece) => line({ ...said(piece), done: false })),
      line({ ...said(""), ...last }),
    ],
  };
}

function embeddings(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "input"],
    optional: ["truncate", "dimensions", "keep_alive", "options"],
  });
  const input = textsOf(body.input, "input", 10_000);
  const embeddings = script.embed(input, numberOf(body.dimensions, "dimensions"));
  return { status: 200, json: { model: body.model, embeddings, prompt_eval_count: input.length * 3 } };
}
