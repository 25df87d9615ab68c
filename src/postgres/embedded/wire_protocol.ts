/** Messages of PostgreSQL's wire protocol, version 3 (PostgreSQL manual, "Message Formats"). */

/** `I` idle, `T` in a transaction, `E` in a transaction that failed. */
export type TransactionStatus = "I" | "T" | "E";

/** One message with its type byte and length; `body` is what follows them. */
export interface Message {
  readonly type: string;
  readonly body: Uint8Array;
  readonly bytes: Uint8Array;
}

/**
 * What a startup packet's second word says (manual, "StartupMessage", "CancelRequest", "SSLRequest", "GSSENCRequest").
 */
export const startupCodes = {
  protocol3: 3,
  cancel: 80877102,
  ssl: 80877103,
  gssEncryption: 80877104,
} as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Joins parts into one array; a string becomes its UTF-8 bytes and a terminating zero, a number four bytes. */
export function encode(...parts: readonly (string | number | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const encoded = parts.map((part) => {
    if (typeof part === "string") return encoder.encode(part + "\0");
    if (typeof part === "number") return new Uint8Array([part >>> 24, part >>> 16, part >>> 8, part]);
    return part;
  });
  const joined = new Uint8Array(encoded.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of encoded) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** A message of `type` whose body is the parts as `encode()` joins them. */
export function message(
  type: string,
  ...parts: readonly (string | number | Uint8Array)[]
): Uint8Array<ArrayBuffer> {
  const body = encode(...parts);
  return encode(encoder.encode(type), body.length + 4, body);
}

export function queryMessage(sql: string): Uint8Array<ArrayBuffer> {
  return message("Q", sql);
}

export function readyForQuery(status: TransactionStatus): Uint8Array<ArrayBuffer> {
  return message("Z", encoder.encode(status));
}

/** `FATAL` tells the client that its connection ends. */
export function errorResponse(
  severity: "ERROR" | "FATAL",
  sqlState: string,
  text: string,
): Uint8Array<ArrayBuffer> {
  return message("E", `S${severity}`, `V${severity}`, `C${sqlState}`, `M${text}`, new Uint8Array(1));
}

export function readInt32(bytes: Uint8Array, offset: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getInt32(offset);
}

/** Zero-terminated texts from the start of a body, up to the first that is unterminated or to `limit`. */
export function readTexts(body: Uint8Array, limit: number): string[] {
  const texts: string[] = [];
  let start = 0;
  while (texts.length < limit) {
    const end = body.indexOf(0, start);
    if (end === -1) break;
    texts.push(decoder.decode(body.subarray(start, end)));
    start = end + 1;
  }
  return texts;
}

/** The messages in bytes that hold whole ones only. */
export function messagesIn(bytes: Uint8Array): Message[] {
  const messages: Message[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = start + 1 + readInt32(bytes, start + 1);
    messages.push(messageFrom(bytes.subarray(start, end)));
    start = end;
  }
  return messages;
}

/** A message from its own bytes. */
export function messageFrom(bytes: Uint8Array): Message {
  return { type: String.fromCharCode(bytes[0] ?? 0), body: bytes.subarray(5), bytes };
}

/** Bytes that are no message of the protocol; nothing that follows them can be read. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** An error that the database itself could not report: the statement was stopped, or the whole database was. */
export class BackendError extends Error {
  override readonly name = "BackendError";

  /**
   * `sqlState` is one of PostgreSQL's manual, "PostgreSQL Error Codes"; after a `FATAL` one the client's session can't
   * go on.
   */
  constructor(readonly sqlState: string, message: string, readonly severity: "ERROR" | "FATAL" = "ERROR") {
    super(message);
  }
}

export const cancelledByTimeout = () =>
  new BackendError("57014", "canceling statement due to statement timeout");

export const cancelledByUser = () => new BackendError("57014", "canceling statement due to user request");

/** `reason` is the message of the exception that came out of the database's code. */
export function stoppedBy(reason: string): BackendError {
  // V8's words for recursion that PostgreSQL's own check did not see
  if (reason.includes("call stack")) return new BackendError("54001", "stack depth limit exceeded");
  return new BackendError("XX000", `the embedded database stopped: ${reason}`);
}

export const shuttingDown = () =>
  new BackendError("57P01", "terminating connection due to administrator command", "FATAL");

/** The first ErrorResponse in whole messages, as an error that ends a session. */
export function errorIn(messages: Uint8Array): BackendError | undefined {
  const error = messagesIn(messages).find(({ type }) => type === "E");
  if (error === undefined) return undefined;
  const fields = new Map(readTexts(error.body, 50).map((field) => [field.slice(0, 1), field.slice(1)]));
  return new BackendError(fields.get("C") ?? "XX000", fields.get("M") ?? "", "FATAL");
}
