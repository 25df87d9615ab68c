import type { WireRequest } from "../http_connections.ts";
import {
  askedOf,
  bodyOf,
  event,
  membersOf,
  numberOf,
  textOf,
  type VendorReply,
  type VendorScript,
  type VendorWire,
  WireRefusal,
} from "./vendor_wire.ts";

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
};

const usageMetadata = {
  promptTokenCount: 120,
  cachedContentTokenCount: 40,
  candidatesTokenCount: 4,
  thoughtsTokenCount: 3,
  totalTokenCount: 127,
};

function errorBody(status: number, message: string, details?: readonly unknown[]) {
  return { error: { code: status, message, status: statuses[status] ?? "UNKNOWN", details } };
}

/** Gemini API reference: "Generating content", "Embeddings", "Models"; guide "Troubleshooting". */
export const geminiWire: VendorWire = {
  basePath: "",
  errorBody,
  errorItem: (message) => event(errorBody(503, message)),
  handle(request, script, key) {
    demandGoogleKey(request.headers.get("x-goog-api-key"), key);
    const [, model = "", method = ""] =
      request.path.match(/^\/v1beta\/models\/([\w.-]+):(\w+(?:\?alt=sse)?)$/) ??
        [];
    if (request.method === "GET" && request.path.startsWith("/v1beta/models")) {
      return { status: 200, json: { models: [{ name: "models/gemini-2.5-flash" }] } };
    }
    if (method === "generateContent") return generate(request, script, model, false);
    if (method === "streamGenerateContent?alt=sse") return generate(request, script, model, true);
    if (method === "batchEmbedContents") return embeddings(request, script, model);
    throw new WireRefusal(404, "Requested entity was not found.");
  },
};

function demandGoogleKey(given: string | undefined, key: string | undefined): void {
  if (key === undefined || given === key) return;
  if (given === undefined) throw new WireRefusal(403, "Method doesn't allow unregistered callers");
  const message = "API key not valid. Please pass a valid API key.";
  const detail = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  throw new WireRefusal(400, message, errorBody(400, message, [detail]));
}

function generate(request: WireRequest, script: VendorScript, model: string, isStream: boolean): VendorReply {
  const body = bodyOf(request, {
    required: ["contents"],
    optional: ["systemInstruction", "generationConfig"],
  });
  if (body.generationConfig !== undefined) {
    membersOf(body.generationConfig, { required: [], optional: ["maxOutputTokens", "temperature"] });
  }
  const system = body.systemInstruction === undefined ? undefined : contentText(body.systemInstruction);
  const contents = Array.isArray(body.contents) ? body.contents : [];
  const messages = contents.map((content) => ({
    role: content.role === "model" ? "assistant" : content.role,
    content: contentText(content),
  }));
  const pieces = script.answer(askedOf(model, system, messages));
  const finishReason = script.isCut ? "MAX_TOKENS" : "STOP";
  const item = (text: string, isLast: boolean) => ({
    candidates: [{
      // thoughts come as parts too, and are no part of the answer
      content: { role: "model", parts: [{ text: "Hm.", thought: true }, { text }] },
      ...(isLast && { finishReason }),
      index: 0,
    }],
    usageMetadata: isLast ? usageMetadata : { promptTokenCount: 120 },
    modelVersion: model,
  });
  if (!isStream) return { status: 200, json: item(pieces.join(""), true) };
  return {
    contentType: "text/event-stream",
    items: [...pieces.map((text) => event(item(text, false))), event(item("", true))],
  };
}

function contentText(content: unknown): string {
  const { parts } = membersOf(content, { required: ["parts"], optional: ["role"] });
  if (!Array.isArray(parts)) throw new WireRefusal(400, "parts: expected a list");
  return parts.map((part) => textOf(membersOf(part, { required: ["text"], optional: [] }).text, "text")).join(
    "",
  );
}

function embeddings(request: WireRequest, script: VendorScript, model: string): VendorReply {
  const { requests } = bodyOf(request, { required: ["requests"], optional: [] });
  if (!Array.isArray(requests)) throw new WireRefusal(400, "requests: expected a list");
  if (requests.length > 100) {
    throw new WireRefusal(
      400,
      "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch",
    );
  }
  const takesTask = !/^gemini-embedding-(?!001)/.test(model);
  const asked = requests.map((one) => {
    const members = membersOf(one, {
      required: ["model", "content"],
      optional: ["outputDimensionality", ...(takesTask ? ["taskType"] : [])],
    });
    if (members.model !== `models/${model}`) throw new WireRefusal(400, "model: not that of the batch");
    return {
      text: contentText(members.content),
      dimensions: numberOf(members.outputDimensionality, "dimensions"),
    };
  });
  const vectors = script.embed(asked.map(({ text }) => text), asked[0]?.dimensions);
  return {
    status: 200,
    json: {
      embeddings: vectors.map((values) => ({ values })),
      usageMetadata: { promptTokenCount: asked.length * 3 },
    },
  };
}
