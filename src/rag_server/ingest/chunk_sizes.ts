import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { ChunkOptions } from "../../text/chunk_document.ts";

/** The most tokens of a chunk where nobody says: a few paragraphs. */
const usualChunkTokens = 400;

const usualOverlapTokens = 60;

/** A model counts parts of words where `countTokens` estimates them: what a model reads holds at least this share of them. */
const safeShare = 0.85;

/**
 * How large chunks are. Without a setting none is longer than what the embedding model reads: its end would not be found.
 *
 * @param settings of the pipeline, in tokens; an overlap is at most half of a chunk
 */
export function chunkSizes(
  settings: { readonly max_tokens?: number; readonly overlap_tokens?: number } | undefined,
  { readTokens = Infinity }: Pick<EmbeddingProvider, "readTokens">,
): ChunkOptions {
  const maxTokens = settings?.max_tokens ?? Math.min(usualChunkTokens, Math.floor(safeShare * readTokens));
  const overlapTokens = settings?.overlap_tokens ??
    Math.min(usualOverlapTokens, Math.floor(0.15 * maxTokens));
  return { maxTokens, overlapTokens: Math.min(overlapTokens, Math.floor(maxTokens / 2)) };
}
