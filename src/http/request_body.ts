import { settlesWithin, type SharedDeadline } from "../core/async/deadline.ts";

/** How long a body may take to arrive, in milliseconds. */
export const bodyTimeoutMs = 30_000;

/** A request's body as text, or why there is none. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too_large" }
  | { readonly kind: "not_utf8" }
  /** The client went away or took too long. */
  | { readonly kind: "broken" };

/**
 * Reads a body of at most `maxBytes` within the timeout; a larger one is refused by its Content-Length, or as soon as
 * what came exceeds the bound. The sizes are those of each server: `tool_server/endpoint.ts` (before a login and after
 * it), `rag_server/api/login_endpoint.ts` and `rag_server/api/query_endpoint.ts`.
 */
export async function readBody(
  request: Request,
  options: { maxBytes: number; timeout: SharedDeadline },
): Promise<Body> {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > options.maxBytes) return { kind: "too_large" };
  // a body of a known length holds no more than that, and is cheaper to read at once: to look at `body` makes a stream
  const reading = length === null ? readWithinBound(request.body, options.maxBytes) : request.bytes();
  const bytes = await options.timeout.race(reading.catch(() => broken), broken);
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
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | Body> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // the rest stays for discardRest()
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return { kind: "too_large" };
    chunks.push(Uint8Array.from(chunk));
  }
  return await new Blob(chunks).bytes();
}

const mostDiscardedBytes = 16 * 1024 * 1024;
const discardMs = 10_000;

/**
 * Reads what is left of the body of a request that came over HTTP/2, up to 16 MiB and for 10 s at most. A reply that goes
 * out before it resets the stream there, and clients such as curl then show none. Over HTTP/1.1 the runtime sees to it.
 */
export async function discardRest(request: Request): Promise<void> {
  // every request of HTTP/1.1 has it (RFC 9112 section 3.2); one of HTTP/2 has `:authority` (RFC 9113 section 8.3.1)
  if (request.headers.has("host") || request.body === null || request.body.locked) return;
  const reader = request.body.getReader();
  const discard = async () => {
    for (let bytes = 0; bytes < mostDiscardedBytes;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
  };
  // a client that goes away receives no reply anyway
  await settlesWithin(discardMs, discard().catch(() => {}));
}

/** Deno before 2.9 hides a Content-Length that comes after Transfer-Encoding, and takes the request. */
const runtimeHidesLength = Number(Deno.version.deno.split(".")[1]) < 9;

/**
 * Refuses a request that a proxy in front may have read in another way: one whose headers say in two ways where the body
 * ends (RFC 9112 section 6.1), or that is coded, which nobody here undoes (RFC 9110 section 15.5.16).
 */
export function refuseFraming(headers: Headers): Response | undefined {
  const transferCoding = headers.get("transfer-encoding");
  if (
    transferCoding !== null && (headers.has("content-length") || transferCoding.toLowerCase() !== "chunked")
  ) {
    const error =
      "Bad Request: send the body with Content-Length or with Transfer-Encoding: chunked, not both";
    return Response.json({ error }, { status: 400, headers: { connection: "close" } });
  }
  const contentCoding = headers.get("content-encoding") ?? "identity";
  if (contentCoding.toLowerCase() === "identity") return undefined;
  const error = "Unsupported Media Type: send the body without Content-Encoding";
  return Response.json({ error }, { status: 415, headers: { "accept-encoding": "identity" } });
}

/** Has the connection end with the reply where the request may have said in two ways where its body ends (as above). */
export function endConnection(request: Headers, reply: Headers): void {
  if (runtimeHidesLength && request.has("transfer-encoding")) reply.set("connection", "close");
}

/** Levels of lists and objects, the outermost among them. No request of ours nests deeper than ten. */
const maxLevels = 100;
/** Items of lists, and keys: a filter of 50 lists of 1,000 values fits. */
const maxItems = 300_000;
/** Keys cost far more than items, and no request of ours has more than some hundreds. */
const maxKeys = 10_000;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Says why a JSON text would keep JSON.parse, or whoever looks at its value, busy for too long; undefined where it would
 * not. Ask before the text is parsed: 4 MiB of brackets take seconds. The check takes some milliseconds for 4 MiB.
 */
export function findExcess(text: string): string | undefined {
  let levels = 0;
  let items = 0;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case openList:
      case openObject:
        if (++levels > maxLevels) return `it nests deeper than ${maxLevels} levels`;
        break;
      case closeList:
      case closeObject:
        levels--;
        break;
      case comma:
        if (++items > maxItems) return `it holds more than ${maxItems} items`;
        break;
      case colon:
        if (++keys > maxKeys) return `it holds more than ${maxKeys} keys`;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at++;
  }
  return text.length;
}
