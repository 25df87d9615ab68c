import type { WireRequest } from "../http_connections.ts";
import { rerankResults } from "./rerank_wire.ts";
import {
  base64Floats,
  bodyOf,
  demandKey,
  numberOf,
  textOf,
  textsOf,
  type VendorReply,
  type VendorScript,
  type VendorWire,
  WireRefusal,
} from "./vendor_wire.ts";

/** Voyage API reference: "Text embedding models", "Rerankers"; guide "Error codes". */
export const voyageWire: VendorWire = {
  basePath: "/v1",
  errorBody: (_status, message) => ({ detail: message }),
  handle(request, script, key) {
    demandKey(request.headers.get("authorization"), key && `Bearer ${key}`);
    switch (`${request.method} ${request.path}`) {
      case "POST /v1/embeddings":
        return embeddings(request, script);
      case "POST /v1/rerank":
        return rerank(request, script);
      default:
        throw new WireRefusal(404, "Not Found");
    }
  },
};

function embeddings(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "input"],
    optional: ["input_type", "truncation", "output_dimension", "output_dtype", "encoding_format"],
  });
  if (body.input_type !== "query" && body.input_type !== "document") {
    throw new WireRefusal(400, "input_type: expected query or document");
  }
  const input = textsOf(body.input, "input", 1000);
  const vectors = script.embed(input, numberOf(body.output_dimension, "output_dimension"));
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    embedding: body.encoding_format === "base64" ? base64Floats(vector) : vector,
    index,
  }));
  return {
    status: 200,
    json: { object: "list", data, model: body.model, usage: { total_tokens: input.length * 3 } },
  };
}

function rerank(request: WireRequest, script: VendorScript): VendorReply {
  const body = bodyOf(request, {
    required: ["model", "query", "documents"],
    optional: ["top_k", "return_documents", "truncation"],
  });
  const documents = textsOf(body.documents, "documents", 1000);
  const scores = script.score(textOf(body.query, "query"), documents);
  return {
    status: 200,
    json: {
      object: "list",
      data: rerankResults(scores, numberOf(body.top_k, "top_k")),
      model: body.model,
      usage: { total_tokens: documents.length * 5 },
    },
  };
}
