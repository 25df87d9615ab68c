import { encode, type Message, messageFrom, readInt32 } from "./wire_protocol.ts";

const maxStartupBytes = 10_000;
const maxMessageBytes = 64 * 1024 * 1024;

/** A client's bytes, read as packets; every read gives undefined once the input has ended before the packet's end. */
export interface PacketInbox {
  push(chunk: Uint8Array): void;
  end(): void;
  /** A packet without a type byte, its length left out. @throws ProtocolViolation */
  readStartup(): Promise<Uint8Array | undefined>;
  /** @throws ProtocolViolation */
  readMessage(): Promise<Message | undefined>;
}

/** Bytes that are no message of the protocol; nothing that follows them can be read. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
}

export function createPacketInbox(): PacketInbox {
  let chunks: Uint8Array[] = [];
  let buffered = 0;
  let ended = false;
  let wake = () => {};

  async function peek(length: number): Promise<Uint8Array | undefined> {
    while (buffered < length && !ended) await new Promise<void>((resolve) => wake = resolve);
    if (buffered < length) return undefined;
    if (chunks.length > 1) chunks = [encode(...chunks)];
    return chunks[0]?.subarray(0, length);
  }

  async function take(length: number): Promise<Uint8Array | undefined> {
    const bytes = await peek(length);
    if (bytes === undefined) return undefined;
    const rest = chunks[0]?.subarray(length);
    chunks = rest === undefined || rest.length === 0 ? [] : [rest];
    buffered -= length;
    return bytes;
  }

  return {
    push(chunk) {
      if (ended || chunk.length === 0) return;
      chunks.push(chunk);
      buffered += chunk.length;
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async readStartup() {
      const head = await peek(4);
      if (head === undefined) return undefined;
      const length = checkedLength(readInt32(head, 0), 8, maxStartupBytes);
      return (await take(length))?.subarray(4);
    },
    async readMessage() {
      const head = await peek(5);
      if (head === undefined) return undefined;
      const length = checkedLength(readInt32(head, 1), 4, maxMessageBytes);
      const bytes = await take(1 + length);
      return bytes === undefined ? undefined : messageFrom(bytes);
    },
  };
}

function checkedLength(length: number, min: number, max: number): number {
  if (length < min || length > max) throw new ProtocolViolation("invalid message length");
  return length;
}
