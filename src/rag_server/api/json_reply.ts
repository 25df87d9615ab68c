import { Buffer } from "node:buffer";

// RFC 8631: where the description of the API is
const replyHeaders = {
  link: '</v1/openapi.json>; rel="service-desc"',
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A reply whose body is JSON text. */
export function jsonReply(
  text: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { body, length } = bodyInPieces(text);
  return new Response(body, {
    status,
    headers: { ...replyHeaders, "content-type": "application/json", ...headers, "content-length": length },
  });
}

/** The reply of what was done and has nothing to tell. */
export function noContent(): Response {
  return new Response(null, { status: 204, headers: replyHeaders });
}

const encoder = new TextEncoder();
const pieceBytes = 65_536;

/**
 * A reply's text as a body. A long one is handed over in pieces, as the client takes them: Deno before 2.7 counts a reply as
 * sent once it holds all of it, and a stop of the server would cut it off.
 *
 * @returns also the body's length for Content-Length, which the runtime cannot tell of pieces
 */
export function bodyInPieces(text: string): { body: BodyInit; length: string } {
  if (text.length <= pieceBytes) return { body: text, length: String(Buffer.byteLength(text)) };
  const bytes = encoder.encode(text);
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at += pieceBytes));
      if (at >= bytes.length) controller.close();
    },
  }, { highWaterMark: 0 });
  return { body, length: String(bytes.length) };
}

// https://html.spec.whatwg.org/multipage/server-sent-events.html; nginx holds back what it may buffer
const eventStreamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

/** A reply of server-sent events, each one line. A client that reads slowly slows down what makes the events. */
export function eventStreamReply({ next, onLeave }: {
  /** The texts of the next events, undefined after the last; asked for only when the client can take them. */
  readonly next: () => Promise<readonly string[] | undefined>;
  /** The client has gone before the last event. */
  readonly onLeave: () => void;
}): Response {
  const body = new ReadableStream({
    async pull(controller) {
      const events = await next();
      if (events === undefined) controller.close();
      else controller.enqueue(encoder.encode(events.map((text) => `data: ${text}\n\n`).join("")));
    },
    cancel: onLeave,
  }, { highWaterMark: 0 });
  return new Response(body, { headers: eventStreamHeaders });
}
