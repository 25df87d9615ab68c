import { Buffer } from "node:buffer";
import { z } from "zod";
import { ProviderError } from "../provider_error.ts";

// Only what it is; readVector() looks at the numbers, once.
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
    throw new ProviderError("provider", "an embedding holds something that is no finite number");
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
      throw new ProviderError("provider", `the reply numbers an embedding ${index} among ${data.length}`);
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
    throw new ProviderError("provider", `an embedding of ${bytes.length} bytes is no list of floats`);
  }
  // the copy aligns what Buffer took from the middle of its pool
  return new Float32Array(new Uint8Array(bytes).buffer);
}
