const pieceBytes = 65_536;
const encoder = new TextEncoder();

export interface BodyInPieces {
  readonly body: BodyInit;
  /** For Content-Length, where the runtime cannot tell. */
  readonly length?: string;
}

/**
 * A reply's text as a body. A long one is handed over piece by piece, as the client takes it: Deno before 2.7 counts a reply
 * as sent once it holds all of it, and a stop of the server would cut it off.
 */
export function bodyInPieces(text: string): BodyInPieces {
  if (text.length <= pieceBytes) return { body: text };
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
