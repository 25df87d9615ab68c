import { Buffer } from "node:buffer";
import { z } from "zod";
import {
  type EmbeddingProvider,
  type EmbeddingRequest,
  type Embeddings,
  noUsage,
  providerName,
  type ProviderOptions,
} from "../provider.ts";
import { ProviderError } from "../provider_error.ts";
import type { VendorExchange } from "../transport/exchange.ts";
import { tellThoughLeft, usageTeller } from "../usage.ts";

/** What a vendor takes in one request; `bytes` are of UTF-8, and a single text that is longer makes a batch of its own. */
interface BatchLimits {
  readonly texts: number;
  readonly bytes: number;
}

interface EmbeddedBatch {
  readonly vectors: readonly Float32Array[];
  readonly promptTokens: number;
}

/** `onUsage` is told of each batch, also where another fails. */
export interface BatchedEmbedding extends Pick<ProviderOptions, "dimensions" | "onUsage"> {
  readonly limits: BatchLimits;
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedBatch>;
}

/** How a vendor embeds. */
interface EmbeddingWire {
  readonly path: string;
  readonly limits: BatchLimits;
  readonly body: (
    texts: readonly string[],
    purpose: EmbeddingRequest["purpose"],
  ) => Readonly<Record<string, unknown>>;
  readonly read: (json: unknown) => EmbeddedBatch;
  /** What may be read at no cost; where absent a ping embeds a word. */
  readonly ping?: string;
}

/** Embeddings as a vendor writes them. */
export function vendorEmbedding(
  options: ProviderOptions,
  exchange: VendorExchange,
  { path, limits, body, read, ping }: EmbeddingWire,
): EmbeddingProvider {
  const embed = (request: EmbeddingRequest) =>
    embedInBatches(request, {
      ...options,
      limits,
      embed: (texts, signal) =>
        exchange.send({ path, signal, span: request.span, body: body(texts, request.purpose), read }),
    });
  return {
    name: providerName(options),
    embed,
    async ping(signal) {
      if (ping !== undefined) await exchange.get({ path: ping, signal });
      else await embed({ texts: ["ping"], purpose: "query", signal });
    },
  };
}

const concurrency = 4;

/**
 * Embeds any number of texts by requests of the vendor's size, four at a time. The first that fails ends the others.
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
      const tellBatch = usageTeller(onUsage, request.onUsage, () => texts);
      const embedded = await tellThoughLeft(tellBatch, request.signal, async (tell) => {
        const embedded = await embed(texts, signal);
        tell({ ...noUsage, promptTokens: embedded.promptTokens });
        return embedded;
      });
      requireCount(embedded.vectors.length, texts.length);
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

  requireLength(vectors, dimensions);
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

function requireCount(count: number, expected: number): void {
  if (count === expected) return;
  throw new ProviderError("provider", `the reply holds ${count} embeddings for ${expected} texts`);
}

function requireLength(vectors: readonly Float32Array[], dimensions: number | undefined): void {
  // of the lengths in their order, the one in the middle is that of most
  const lengths = vectors.map(({ length }) => length).toSorted((a, b) => a - b);
  const expected = dimensions ?? lengths[(lengths.length - 1) >> 1];
  const odd = vectors.find((vector) => vector.length === 0 || vector.length !== expected);
  if (odd === undefined) return;
  throw new ProviderError("provider", `an embedding has ${odd.length} dimensions instead of ${expected}`);
}

// Checks only that it is a list; readVector() looks at the numbers, once.
const numbers = z.custom<readonly unknown[]>(Array.isArray, "expected a list of numbers");

/** An embedding on the wire: a list of numbers, or base64 of little-endian 32-bit floats. */
export const wireVector = z.union([z.string(), numbers]);

/**
 * @throws {ProviderError} `provider` where anything in it is no finite number
 */
export function readVector(wire: z.infer<typeof wireVector>): Float32Array {
  const vector = typeof wire === "string" ? fromBase64(wire) : fromNumbers(wire);
  // indexed loops, here and below: callbacks take ten times as long, and a reply holds a million numbers
  for (let index = 0; index < vector.length; index++) {
    if (Number.isFinite(vector[index])) continue;
    throw new ProviderError("provider", "an embedding holds a value that is not a finite number");
  }
  return vector;
}

/**
 * Vectors in the order of the texts, from replies that number them.
 * @throws {ProviderError} `provider` where the numbers are not each of 0 to count - 1 once
 */
export function readNumberedVectors(
  data: readonly { readonly index: number; readonly embedding: z.infer<typeof wireVector> }[],
): Float32Array[] {
  const vectors: Float32Array[] = [];
  for (const { index, embedding } of data) {
    if (!(index in data) || vectors[index] !== undefined) {
      throw new ProviderError(
        "provider",
        `the reply has ${data.length} embeddings, and index ${index} is wrong or repeated`,
      );
    }
    vectors[index] = readVector(embedding);
  }
  return vectors;
}

function fromNumbers(wire: readonly unknown[]): Float32Array {
  const vector = new Float32Array(wire.length);
  for (let index = 0; index < wire.length; index++) {
    const value = wire[index];
    // assigned as it is, null would be 0 and "1" be 1
    vector[index] = typeof value === "number" ? value : NaN;
  }
  return vector;
}

function fromBase64(wire: string): Float32Array {
  const bytes = Buffer.from(wire, "base64");
  if (bytes.length % 4 !== 0) {
    throw new ProviderError("provider", `an embedding of ${bytes.length} bytes is not a list of floats`);
  }
  // the copy aligns what Buffer took from the middle of its pool
  return new Float32Array(new Uint8Array(bytes).buffer);
}
