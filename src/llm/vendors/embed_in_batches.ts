import { type EmbeddingRequest, type Embeddings, noUsage } from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import type { OnUsage } from "../read_completion.ts";

/** What a vendor takes in one request. */
export interface BatchLimits {
  readonly texts: number;
  /** Of UTF-8, over all texts. A single text that is longer makes a batch of its own. */
  readonly bytes: number;
}

export interface EmbeddedBatch {
  readonly vectors: readonly Float32Array[];
  readonly promptTokens: number;
}

export interface BatchedEmbedding {
  readonly limits: BatchLimits;
  readonly dimensions?: number | undefined;
  /** Told of each batch, also where another fails. */
  readonly onUsage?: OnUsage | undefined;
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedBatch>;
}

const concurrency = 4;

/**
 * Embeds any number of texts by requests of the vendor's size, four at a time. The first that fails ends the
 * others.
 * @throws {ProviderError} `provider` where the vectors are not as many as the texts, or not of one length, or
 * not of the length asked for
 */
export async function embedInBatches(
  request: EmbeddingRequest,
  { limits, dimensions, onUsage, embed }: BatchedEmbedding,
): Promise<Embeddings> {
  const pending = batches(request.texts, limits);
  const vectors: Float32Array[] = new Array(request.texts.length);
  const failed = new AbortController();
  const signal = AbortSignal.any([request.signal, failed.signal]);
  let promptTokens = 0;

  // the workers share one iterator: each takes the next batch as soon as it is free
  const work = async () => {
    for (const { first, texts } of pending) {
      const embedded = await embed(texts, signal);
      onUsage?.({ ...noUsage, promptTokens: embedded.promptTokens });
      demandCount(embedded.vectors.length, texts.length);
      embedded.vectors.forEach((vector, index) => vectors[first + index] = vector);
      promptTokens += embedded.promptTokens;
    }
  };
  const workers = Array.from({ length: concurrency }, () =>
    work().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }));
  // waits for all, so that no request outlives the call
  await Promise.allSettled(workers);
  if (failed.signal.aborted) throw failed.signal.reason;

  demandLength(vectors, dimensions);
  return { vectors, usage: { ...noUsage, promptTokens } };
}

const encoder = new TextEncoder();

function* batches(
  texts: readonly string[],
  limits: BatchLimits,
): Generator<{ first: number; texts: readonly string[] }, void, undefined> {
  let first = 0;
  let bytes = 0;
  for (const [index, text] of texts.entries()) {
    const size = encoder.encode(text).length;
    if (index > first && (index - first === limits.texts || bytes + size > limits.bytes)) {
      yield { first, texts: texts.slice(first, index) };
      first = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (first < texts.length) yield { first, texts: texts.slice(first) };
}

function demandCount(count: number, expected: number): void {
  if (count === expected) return;
  throw new ProviderError("provider", `the reply holds ${count} embeddings for ${expected} texts`);
}

function demandLength(vectors: readonly Float32Array[], dimensions: number | undefined): void {
  const expected = dimensions ?? vectors[0]?.length;
  const odd = vectors.find((vector) => vector.length === 0 || vector.length !== expected);
  if (odd === undefined) return;
  throw new ProviderError("provider", `an embedding has ${odd.length} dimensions instead of ${expected}`);
}
