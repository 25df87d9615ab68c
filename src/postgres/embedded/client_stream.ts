import { Duplex } from "node:stream";
import { createPacketInbox } from "./packet_inbox.ts";

/** The client's end of a connection: a Duplex that has what a driver calls on a `net.Socket`. */
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

  /** Gives bytes to the client; resolves when it takes more, or never will. */
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

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
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
