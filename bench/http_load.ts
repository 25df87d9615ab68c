export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  /** Ends after so many requests or so many seconds, whichever is given. */
  readonly requests?: number;
  readonly seconds?: number;
  /** Must occur in every reply, so that a refusal is not measured as an answer. */
  readonly expect: string;
}

/**
 * Sends one request over and over on keep-alive connections of its own, as cheaply as can be: `fetch` would cost more
 * than the servers that are measured.
 */
export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  const started = performance.now();
  const deadline = started + (options.seconds ?? Infinity) * 1000;
  let left = options.requests ?? Infinity;
  const next = () => left-- > 0 && performance.now() < deadline;
  const counts = await Promise.all(Array.from({ length: options.connections }, () => drive(options, next)));
  const requests = counts.reduce((sum, count) => sum + count, 0);
  const seconds = (performance.now() - started) / 1000;
  return { requests, seconds, perSecond: requests / seconds };
}

async function drive(options: LoadOptions, next: () => boolean): Promise<number> {
  const { hostname, port } = new URL(options.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay(true);
  const request = encodeRequest(options);
  const buffer = new Uint8Array(1 << 16);
  let count = 0;
  let length = 0;
  try {
    while (next()) {
      await writeAll(connection, request);
      // one request has one reply, so the first is read in full and the others by their length and status
      if (length === 0) length = await readFirstReply(connection, buffer, options.expect);
      else await readReply(connection, buffer, length);
      count++;
    }
  } finally {
    connection.close();
  }
  return count;
}

/** A request's bytes, for a connection that is kept. */
export function encodeRequest(
  { url, method = "POST", headers = {}, body = "" }: Pick<LoadOptions, "url" | "method" | "headers" | "body">,
): Uint8Array {
  const { host, pathname } = new URL(url);
  const bytes = new TextEncoder().encode(body).byteLength;
  const lines = [
    `${method} ${pathname} HTTP/1.1`,
    `host: ${host}`,
    `content-length: ${bytes}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await connection.write(bytes.subarray(written));
}

const decoder = new TextDecoder();

/** Reads a reply that has a Content-Length, checks it, and tells its length in bytes. */
async function readFirstReply(connection: Deno.Conn, buffer: Uint8Array, expect: string): Promise<number> {
  let text = "";
  for (;;) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("the server closed the connection");
    text += decoder.decode(buffer.subarray(0, size));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const bodyLength = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
    if (new TextEncoder().encode(text.slice(end + 4)).length < bodyLength) continue;
    if (!text.startsWith("HTTP/1.1 200") || !text.includes(expect)) {
      throw new Error(`unexpected reply: ${text.slice(0, 500)}`);
    }
    return end + 4 + bodyLength;
  }
}

// "200" in "HTTP/1.1 200 OK"
const okStatus = [0x32, 0x30, 0x30];

async function readReply(connection: Deno.Conn, buffer: Uint8Array, length: number): Promise<void> {
  let received = 0;
  while (received < length) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("the server closed the connection");
    if (received === 0 && !okStatus.every((byte, index) => buffer[9 + index] === byte)) {
      throw new Error(`unexpected reply: ${decoder.decode(buffer.subarray(0, Math.min(size, 500)))}`);
    }
    received += size;
  }
  if (received !== length) throw new Error(`a reply of another length: ${received} bytes for ${length}`);
}
