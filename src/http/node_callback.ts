import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable, Writable } from "node:stream";

/** A handler of Node.js's `http`, such as Koa's `callback()`. */
export type NodeCallback = (request: IncomingMessage, response: ServerResponse) => unknown;

interface NodeRequestInit {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Path and query before a prefix was taken off, which is what links are made from. */
  readonly originalUrl: string;
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Of the client. */
  readonly address: string;
  /** Whether the client came by HTTPS, perhaps as far as a proxy. */
  readonly encrypted: boolean;
}

/**
 * Has a handler of Node.js answer a request, without a socket or a listener between: the streams are in memory. The handler
 * sees those parts of both messages that Koa uses; everything it writes comes back as one response.
 */
export function callNode(callback: NodeCallback, init: NodeRequestInit): Promise<Response> {
  const socket = new MemorySocket(init.address, init.encrypted);
  const request = new MemoryRequest(init, socket);
  const response = new MemoryResponse(socket);
  return new Promise((resolve, reject) => {
    response.once("finish", () => resolve(response.toResponse()));
    response.once("error", reject);
    // both have what the handler looks at; a socket, which the types ask for, is what there is none of
    const answered = callback(
      request as unknown as IncomingMessage,
      response as unknown as ServerResponse,
    );
    Promise.resolve(answered).catch(reject);
  });
}

class MemorySocket extends EventEmitter {
  readonly readable = true;
  readonly writable = true;
  constructor(readonly remoteAddress: string, readonly encrypted: boolean) {
    super();
  }
}

class MemoryRequest extends Readable {
  readonly httpVersion = "1.1";
  readonly httpVersionMajor = 1;
  readonly httpVersionMinor = 1;
  readonly method: string;
  readonly url: string;
  readonly originalUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  #body: Uint8Array | undefined;

  constructor({ method, url, originalUrl, headers, body }: NodeRequestInit, readonly socket: MemorySocket) {
    super();
    this.method = method;
    this.url = url;
    this.originalUrl = originalUrl;
    this.headers = body.byteLength === 0
      ? headers
      : { ...headers, "content-length": String(body.byteLength) };
    this.#body = body;
  }
  override _read(): void {
    const body = this.#body;
    this.#body = undefined;
    if (body !== undefined && body.byteLength > 0) this.push(Buffer.from(body));
    else this.push(null);
  }
}

type HeaderValue = string | number | readonly string[];

class MemoryResponse extends Writable {
  statusCode = 200;
  statusMessage = "";
  finished = false;
  headersSent = false;
  readonly #headers = new Map<string, HeaderValue>();
  readonly #chunks: Buffer[] = [];

  constructor(readonly socket: MemorySocket) {
    super();
  }
  setHeader(name: string, value: HeaderValue): this {
    this.#headers.set(name.toLowerCase(), value);
    return this;
  }
  getHeader(name: string): HeaderValue | undefined {
    return this.#headers.get(name.toLowerCase());
  }
  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }
  getHeaders(): Record<string, HeaderValue> {
    return Object.fromEntries(this.#headers);
  }
  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }
  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }
  writeHead(status: number, headers: Readonly<Record<string, HeaderValue>> = {}): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    return this;
  }
  flushHeaders(): void {}
  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.headersSent = true;
    this.#chunks.push(Buffer.from(chunk));
    done();
  }
  override _final(done: () => void): void {
    this.headersSent = true;
    this.finished = true;
    done();
  }
  toResponse(): Response {
    const headers = new Headers();
    for (const [name, value] of this.#headers) {
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, String(each));
    }
    const hasBody = this.statusCode !== 204 && this.statusCode !== 304;
    headers.delete("transfer-encoding");
    const body = Buffer.concat(this.#chunks);
    return new Response(hasBody ? body : null, { status: this.statusCode, headers });
  }
}
