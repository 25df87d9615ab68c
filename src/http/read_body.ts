import type { SharedDeadline } from "../core/async/deadline.ts";

/** A request's body as text, or why there is none. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too_large" }
  | { readonly kind: "not_utf8" }
  /** The client went away or took too long. */
  | { readonly kind: "broken" };

/**
 * Reads a body of at most `maxBytes` within the timeout; a larger one is refused by its Content-Length, or as soon as
 * what came exceeds the bound.
 */
export async function readBody(
  request: Request,
  options: { maxBytes: number; timeout: SharedDeadline },
): Promise<Body> {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > options.maxBytes) return { kind: "too_large" };
  if (request.body === null) return { kind: "text", text: "" };
  // a body of a known length holds no more than that, and is cheaper to read at once
  const bytes = await options.timeout.race(
    length === null ? readWithinBound(request.body, options.maxBytes) : request.bytes().catch(() => broken),
    broken,
  );
  if (!(bytes instanceof Uint8Array)) return bytes;
  try {
    return { kind: "text", text: decoder.decode(bytes) };
  } catch {
    return { kind: "not_utf8" };
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const broken: Body = { kind: "broken" };

async function readWithinBound(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | Body> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > maxBytes) return { kind: "too_large" };
      chunks.push(Uint8Array.from(chunk));
    }
    return await new Blob(chunks).bytes();
  } catch {
    return broken;
  }
}
