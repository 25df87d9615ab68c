import type { WireReply } from "../http_connections.ts";
import type { VendorReply } from "./vendor_wire.ts";

/** What can go wrong; a number is an HTTP status, with the vendor's own error body. */
export type VendorFault =
  | number
  | "reset before the headers"
  | "reset before the body"
  | "reset in the body"
  | "stall before the headers"
  | "stall after the headers"
  | "stall in the body"
  | "malformed JSON"
  | "malformed UTF-8"
  | "unexpected shape"
  | "error in the stream"
  | "no end mark"
  | "empty answer"
  | "wrong dimensions"
  | "too few vectors"
  | "a number that is none";

interface Sending {
  readonly fault: VendorFault | undefined;
  /** What stands for an error within a stream. */
  readonly errorItem: string | undefined;
  readonly bytesPerWrite?: number;
  readonly beforePiece?: (index: number) => Promise<void>;
}

/** Writes a vendor's reply with whatever goes wrong on its way. */
export async function sendReply(reply: WireReply, answer: VendorReply, sending: Sending): Promise<void> {
  const { fault, errorItem, bytesPerWrite, beforePiece } = sending;
  if (fault === "reset before the headers") return reply.breakOff();
  if (fault === "stall before the headers") return await reply.closed;

  const items = "items" in answer
    ? tamperedItems(answer.items, fault, errorItem)
    : [tamperedJson(answer.json, fault)];
  const body = encode(items.join(""));
  const middle = Math.floor(body.length / 2);
  const bytes = fault === "malformed UTF-8" ? withBadByte(body, middle) : body;
  await sendHead(reply, answer, bytes.length);
  if (fault === "reset before the body") return reply.breakOff();
  if (fault === "stall after the headers") return await reply.closed;

  const isCut = fault === "reset in the body" || fault === "stall in the body";
  const pieces = isCut
    ? cut(bytes.subarray(0, middle), items, bytesPerWrite)
    : cut(bytes, items, bytesPerWrite);
  for (const [index, piece] of pieces.entries()) {
    // by default a pause just long enough for the piece to go out as a segment of its own
    if (beforePiece !== undefined) await beforePiece(index);
    else if (bytesPerWrite !== undefined) await new Promise((resolve) => setTimeout(resolve, 0));
    if (reply.isClosed) return;
    await reply.write(piece);
  }
  if (fault === "reset in the body") return reply.breakOff();
  if (fault === "stall in the body") return await reply.closed;
  await reply.end();
}

function sendHead(reply: WireReply, answer: VendorReply, length: number): Promise<void> {
  if ("items" in answer) return reply.head(200, { "content-type": answer.contentType }, undefined);
  const retryAfter = answer.retryAfter === undefined ? {} : { "retry-after": answer.retryAfter };
  return reply.head(answer.status, { "content-type": "application/json", ...retryAfter }, length);
}

/** The bytes in pieces of one size, or of the items' sizes. */
function cut(bytes: Uint8Array, items: readonly string[], size: number | undefined): Uint8Array[] {
  const sizes = size === undefined
    ? items.map((item) => encode(item).length)
    : Array.from({ length: Math.ceil(bytes.length / size) }, () => size);
  let at = 0;
  const pieces = sizes.map((size) => bytes.subarray(at, at += size));
  return [...pieces, bytes.subarray(at)].filter((piece) => piece.length > 0);
}

function tamperedItems(
  items: readonly string[],
  fault: VendorFault | undefined,
  errorItem: string | undefined,
): readonly string[] {
  const middle = Math.floor(items.length / 2);
  const withMiddle = (change: (item: string) => string) =>
    items.map((item, index) => index === middle ? change(item) : item);
  switch (fault) {
    case "no end mark":
      return items.slice(0, -1);
    case "error in the stream":
      return [...items.slice(0, -1), errorItem ?? ""];
    case "unexpected shape":
      return withMiddle((item) => item.replace(/\{.*\}/, "[]"));
    case "malformed JSON":
      return withMiddle((item) => item.replace("{", "{oops "));
    default:
      return items;
  }
}

function tamperedJson(json: unknown, fault: VendorFault | undefined): string {
  if (fault === "unexpected shape") return "[]";
  const text = JSON.stringify(json);
  return fault === "malformed JSON" ? text.replace("{", "{oops ") : text;
}

function withBadByte(bytes: Uint8Array, at: number): Uint8Array {
  return Uint8Array.of(...bytes.subarray(0, at), 0xff, ...bytes.subarray(at));
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
