import assert from "node:assert/strict";
import { chunkSizes } from "../../../src/rag_server/ingest/ingest.ts";

Deno.test("chunks are no longer than what the model reads, unless a setting says so", () => {
  assert.deepEqual(chunkSizes(undefined, {}), { maxTokens: 400, overlapTokens: 60 });
  assert.deepEqual(chunkSizes(undefined, { readTokens: 8_192 }), { maxTokens: 400, overlapTokens: 60 });
  assert.deepEqual(chunkSizes(undefined, { readTokens: 256 }), { maxTokens: 217, overlapTokens: 32 });
  assert.deepEqual(chunkSizes({ max_tokens: 300 }, { readTokens: 256 }), {
    maxTokens: 300,
    overlapTokens: 45,
  });
  assert.deepEqual(chunkSizes({ overlap_tokens: 0 }, {}), { maxTokens: 400, overlapTokens: 0 });
  // a model that reads little, with an overlap that suits others
  assert.deepEqual(chunkSizes({ overlap_tokens: 150 }, { readTokens: 256 }), {
    maxTokens: 217,
    overlapTokens: 108,
  });
});
