import { bodyOf, demandKey, numberOf, textOf, textsOf, type VendorWire, WireRefusal } from "./vendor_wire.ts";

/** Cohere API reference, "Rerank" (its errors, its `meta`), which Jina's interface shares. */
export const rerankWire: VendorWire = {
  basePath: "/v2",
  errorBody: (_status, message) => ({ id: "1", message }),
  handle(request, script, key) {
    demandKey(request.headers.get("authorization"), key && `Bearer ${key}`);
    if (`${request.method} ${request.path}` !== "POST /v2/rerank") throw new WireRefusal(404, "not found");
    const body = bodyOf(request, {
      required: ["model", "query", "documents"],
      optional: ["top_n", "max_tokens_per_doc", "priority"],
    });
    const documents = textsOf(body.documents, "documents", 1000);
    const scores = script.score(textOf(body.query, "query"), documents);
    return {
      status: 200,
      json: {
        id: "1",
        results: rerankResults(scores, numberOf(body.top_n, "top_n")),
        meta: { tokens: { input_tokens: documents.length * 5 }, billed_units: { search_units: 1 } },
      },
    };
  },
};

/** The best documents first. */
export function rerankResults(scores: readonly number[], wanted: number | undefined) {
  return scores
    .map((relevance_score, index) => ({ index, relevance_score }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, wanted);
}
