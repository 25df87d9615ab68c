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
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > options.maxBytes) return { kind: "too_large" };
  if (request.body === null) return { kind: "text", text: "" };
  // a body of a known length holds no more than that, and is cheaper to read at once
  const bytes = length === null
    ? await readWithinBound(request.body, options)
    : await readWhole(request, options.timeoutMs);
  if (!(bytes instanceof Uint8Array)) return bytes;
  try {
    return { kind: "text", text: decoder.decode(bytes) };
  } catch {
    return { kind: "not_utf8" };
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const broken: Body = { kind: "broken" };

async function readWhole(request: Request, timeoutMs: number): Promise<Uint8Array | Body> {
  const late = Promise.withResolvers<Body>();
  const timer = setTimeout(() => late.resolve(broken), timeoutMs);
  try {
    return await Promise.race([request.bytes(), late.promise]);
  } catch {
    return broken;
  } finally {
    clearTimeout(timer);
  }
}

async function readWithinBound(
  body: ReadableStream<Uint8Array>,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs: number },
): Promise<Uint8Array | Body> {
  const reader = body.getReader();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => {});
  }, timeoutMs);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return late ? broken : await new Blob(chunks).bytes();
      chunks.push(Uint8Array.from(value));
      size += value.byteLength;
      if (size > maxBytes) {
        void reader.cancel().catch(() => {});
        return { kind: "too_large" };
      }
    }
  } catch {
    return broken;
  } finally {
    clearTimeout(timer);
  }
}
