import { Buffer } from "node:buffer";

/** One request as it came over the wire. */
export interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  /** The parsed JSON; undefined where there was none. */
  readonly body: unknown;
}

/** Writes a reply byte by byte, and may break off anywhere. */
export interface WireReply {
  /** Headers; `length` undefined: the body goes in chunks. */
  head(status: number, headers: Readonly<Record<string, string>>, length: number | undefined): Promise<void>;
  write(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Closes the connection, whatever is still owed. */
  breakOff(): void;
  readonly isClosed: boolean;
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
}

/** An HTTP/1.1 server on raw connections: what `Deno.serve` would put right can go wrong here. */
export interface WireServer extends AsyncDisposable {
  readonly port: number;
  openConnections(): number;
}

interface Connection {
  readonly tcp: Deno.TcpConn;
  readonly closed: Promise<void>;
  isClosed: boolean;
  close(): void;
}

export function serveWire(
  handle: (request: WireRequest, reply: WireReply) => Promise<void>,
): WireServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Connection>();
  const replies = new Set<Promise<void>>();
  const answer = (connection: Connection, request: WireRequest) => {
    // a reply to somebody who has gone cannot be written: no fault of the server
    const reply = handle(request, createReply(connection)).catch((error: unknown) => {
      if (!connection.isClosed && !hasGone(error)) throw error;
    });
    replies.add(reply);
    reply.then(() => replies.delete(reply));
  };
  const accepting = (async () => {
    for await (const tcp of listener) {
      const connection = openConnection(tcp);
      connections.add(connection);
      connection.closed.then(() => connections.delete(connection));
      readRequests(connection, (request) => answer(connection, request));
    }
  })();
  return {
    port: listener.addr.port,
    openConnections: () => connections.size,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) connection.close();
      await Promise.all([accepting, ...replies]);
    },
  };
}

function openConnection(tcp: Deno.TcpConn): Connection {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  // a reply in two writes would otherwise wait 40 ms for the other side to acknowledge the first
  tcp.setNoDelay(true);
  return {
    tcp,
    closed,
    isClosed: false,
    close() {
      if (this.isClosed) return;
      this.isClosed = true;
      tcp.close();
      resolve();
    },
  };
}

/** Reads on while a request is answered, which is how it learns that the other side has gone. */
async function readRequests(
  connection: Connection,
  take: (request: WireRequest) => void,
): Promise<void> {
  let received = Buffer.alloc(0);
  const piece = new Uint8Array(65_536);
  for (;;) {
    const count = await connection.tcp.read(piece).catch(() => null);
    if (count === null) return connection.close();
    received = Buffer.concat([received, piece.subarray(0, count)]);
    const taken = takeRequest(received);
    if (taken === undefined) continue;
    received = Buffer.from(received.subarray(taken.length));
    take(taken.request);
  }
}

function hasGone(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset;
}

function takeRequest(received: Buffer): { request: WireRequest; length: number } | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [start = "", ...lines] = received.subarray(0, headEnd).toString("latin1").split("\r\n");
  const [method = "", path = ""] = start.split(" ");
  const headers = new Map(lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  }));
  const length = headEnd + 4 + Number(headers.get("content-length") ?? 0);
  if (received.length < length) return undefined;
  const text = received.subarray(headEnd + 4, length).toString("utf8");
  return { request: { method, path, headers, body: text === "" ? undefined : JSON.parse(text) }, length };
}

function createReply(connection: Connection): WireReply {
  let isChunked = false;
  async function send(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await connection.tcp.write(bytes.subarray(at));
  }
  return {
    head(status, headers, length) {
      isChunked = length === undefined;
      const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${length}`;
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
      return send(Buffer.from(`HTTP/1.1 ${status} Whatever\r\n${lines}${framing}\r\n\r\n`));
    },
    write(bytes) {
      const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
      return send(isChunked ? Buffer.concat([size, bytes, Buffer.from("\r\n")]) : bytes);
    },
    end: () => send(Buffer.from(isChunked ? "0\r\n\r\n" : "")),
    breakOff: connection.close.bind(connection),
    get isClosed() {
      return connection.isClosed;
    },
    closed: connection.closed,
  };
}
