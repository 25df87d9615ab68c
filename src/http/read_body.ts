/** A request's body as text, or why there is none. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too_large" }
  | { readonly kind: "not_utf8" }
  /** The client went away or took too long. */
  | { readonly kind: "broken" };

/**
 * Reads a body of at most `maxBytes` within `timeoutMs`; a larger one is refused by its Content-Length, or as soon as
 * what came exceeds the bound.
 */
export async function readBody(
  request: Request,
  options: { maxBytes: number; timeoutMs: number },
): Promise<Body> {
  if (Number(request.headers.get("content-length") ?? 0) > options.maxBytes) return { kind: "too_large" };
  const chunks = request.body === null ? [] : await readChunks(request.body, options);
  if (!Array.isArray(chunks)) return chunks;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    const text = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
    return { kind: "text", text };
  } catch {
    return { kind: "not_utf8" };
  }
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): Promise<Uint8Array[] | Body> {
  const reader = body.getReader();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => {});
  }, timeoutMs);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return late ? { kind: "broken" } : chunks;
      chunks.push(value);
      size += value.byteLength;
      if (size > maxBytes) {
        void reader.cancel().catch(() => {});
        return { kind: "too_large" };
      }
    }
  } catch {
    return { kind: "broken" };
  } finally {
    clearTimeout(timer);
  }
}
