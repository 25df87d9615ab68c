import { Duplex } from "node:stream";
import { encode, type Message, messageFrom, ProtocolError, readInt32 } from "./wire_protocol.ts";

/** The client's end of a connection: a Duplex that has what a driver calls on a socket when it connects. */
export class ClientStream extends Duplex {
  /** What the client wrote. */
  readonly inbox = createPacketInbox();
  readonly #gone = new AbortController();
  #hungUp = false;
  #drained = () => {};

  constructor() {
    super({ allowHalfOpen: false });
  }

  /** Aborts when the stream is destroyed, by either side. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Gives bytes to the client; resolves when the client takes more, or when it has closed. */
  send(bytes: Uint8Array): Promise<void> {
    if (this.#hungUp || this.push(bytes)) return Promise.resolve();
    return new Promise((resolve) => this.#drained = resolve);
  }

  /** Ends what the client reads; nothing is sent after that. */
  hangUp(): void {
    if (this.#hungUp) return;
    this.#hungUp = true;
    this.inbox.end();
    this.push(null);
    this.#drained();
  }

  connect(): this {
    queueMicrotask(() => this.emit("connect"));
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.inbox.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    this.inbox.end();
    done();
  }

  override _read(): void {
    this.#drained();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#hungUp = true;
    this.inbox.end();
    this.#gone.abort();
    this.#drained();
    done(error);
  }
}

const maxStartupBytes = 10_000;
const maxMessageBytes = 64 * 1024 * 1024;

export type PacketInbox = ReturnType<typeof createPacketInbox>;

/** A client's bytes, read as packets; every read gives undefined once the input has ended before the packet's end. */
function createPacketInbox() {
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
    push(chunk: Uint8Array): void {
      if (ended || chunk.length === 0) return;
      chunks.push(chunk);
      buffered += chunk.length;
      wake();
    },
    end(): void {
      ended = true;
      wake();
    },
    /** A packet without a type byte, its length left out. @throws ProtocolError */
    async readStartup(): Promise<Uint8Array | undefined> {
      const head = await peek(4);
      if (head === undefined) return undefined;
      const length = checkedLength(readInt32(head, 0), 8, maxStartupBytes);
      return (await take(length))?.subarray(4);
    },
    /** @throws ProtocolError */
    async readMessage(): Promise<Message | undefined> {
      const head = await peek(5);
      if (head === undefined) return undefined;
      const length = checkedLength(readInt32(head, 1), 4, maxMessageBytes);
      const bytes = await take(1 + length);
      return bytes === undefined ? undefined : messageFrom(bytes);
    },
  };
}

function checkedLength(length: number, min: number, max: number): number {
  if (length < min || length > max) throw new ProtocolError("invalid message length");
  return length;
}
