import { createLogger, type Logger } from "../../src/core/logger.ts";

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  /** What arrived, head and body, one text per request. */
  readonly requests: readonly string[];
  /** Connections that neither side has closed yet. */
  openConnections(): number;
}

export interface RawConnection {
  write(text: string | Uint8Array): Promise<void>;
  /** Ends the connection in good order. */
  close(): void;
  /** Resolves when the client has gone. */
  readonly gone: Promise<void>;
}

/** A TCP server that answers HTTP requests byte by byte, as the test says. `number` counts requests from 1. */
export function startRawServer(
  answer: (connection: RawConnection, number: number, request: string) => Promise<void> | void,
): RawServer {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: string[] = [];
  const open = new Set<Deno.TcpConn>();
  const close = (socket: Deno.TcpConn) => {
    if (open.delete(socket)) socket.close();
  };

  async function serve(socket: Deno.TcpConn): Promise<void> {
    open.add(socket);
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const connection: RawConnection = {
      async write(text) {
        const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
        for (let sent = 0; sent < bytes.length;) sent += await socket.write(bytes.subarray(sent));
      },
      close: () => close(socket),
      gone,
    };
    try {
      for (let request = "";;) {
        const buffer = new Uint8Array(65536);
        const count = await socket.read(buffer);
        if (count === null) break;
        request += new TextDecoder().decode(buffer.subarray(0, count));
        if (!isWhole(request)) continue;
        const number = requests.push(request);
        Promise.resolve(answer(connection, number, request)).catch(() => {});
        request = "";
      }
    } catch {
      // the client broke the connection off, or the test ended it
    } finally {
      close(socket);
      resolve();
    }
  }

  const accepting = (async () => {
    for await (const socket of listener) void serve(socket);
  })();

  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    requests,
    openConnections: () => open.size,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const socket of [...open]) close(socket);
      await accepting;
    },
  };
}

function isWhole(request: string): boolean {
  const [head, body] = request.split("\r\n\r\n", 2);
  if (head === undefined || body === undefined) return false;
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return new TextEncoder().encode(body).length >= length;
}

/** A whole reply; `headers` is lines with their ends. */
export function reply(status: number, body: string, headers = ""): string {
  const length = new TextEncoder().encode(body).length;
  return `HTTP/1.1 ${status} Status\r\n${headers}content-length: ${length}\r\n\r\n${body}`;
}

/** The head of a chunked reply, and its chunks and end. */
export const chunkedHead =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
export const chunkedEnd = "0\r\n\r\n";
export function chunk(data: string | Uint8Array): Uint8Array {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const head = new TextEncoder().encode(`${bytes.length.toString(16)}\r\n`);
  return new Uint8Array([...head, ...bytes, 13, 10]);
}

/** A logger at its most talkative, and its lines. */
export function capturedLogger(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  return { logger: createLogger({ level: "debug", format: "json", write }), lines };
}
